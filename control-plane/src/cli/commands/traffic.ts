/** `sluice traffic` and `sluice logs`: what the fleet counted, and the request lines that it kept. */
import { type Command, Option } from 'commander'
import { type RunAction, show } from '../session.ts'
import { table } from '../table.ts'
import { bytesText, millisecondsText, parseCount, parseTime, timeText } from '../values.ts'

interface TrafficPoint {
  readonly time: string
  readonly requests: Readonly<
    Record<
      | 'total'
      | 'informational'
      | 'success'
      | 'redirection'
      | 'clientError'
      | 'serverError'
      | 'none',
      number
    >
  >
  readonly bytesIn: number
  readonly bytesOut: number
  readonly latency: Readonly<Record<'count', number>> &
    Readonly<Record<'meanMs' | 'p50Ms' | 'p90Ms' | 'p99Ms', number | null>>
}

interface Traffic {
  readonly by: string
  readonly series: readonly { readonly key: string; readonly points: readonly TrafficPoint[] }[]
}

interface LogLine {
  readonly time: string
  readonly node: string
  readonly router: string
  readonly service: string
  readonly method: string
  readonly host: string
  readonly path: string
  readonly status: number
  readonly outcome: string
  readonly durationMs: number
  readonly bytesOut: number
  readonly weight: number
}

interface LogPage {
  readonly items: readonly LogLine[]
}

const fromHelp = 'since when: a time, or how long ago like 15m'

export function addTrafficCommands(program: Command, run: RunAction): void {
  program
    .command('traffic')
    .addOption(
      new Option('--by <what>', 'one line for each of these')
        .choices(['node', 'router', 'service'])
        .default('router'),
    )
    .option('--from <time>', `${fromHelp} (default: 1h)`, parseTime)
    .option('--to <time>', 'until when', parseTime)
    .option('--step <duration>', 'split the range, like 1m, 5m, 1h, 1d')
    .description('show counted requests, bytes and latency')
    .action((options: Record<'by' | 'from' | 'to' | 'step', string | undefined>) =>
      run(async (session) => {
        const body = await session.admin.get('analytics/traffic', options)
        show(session, body as Traffic, (traffic) =>
          trafficText(traffic, options.step !== undefined),
        )
      }),
    )
  program
    .command('logs')
    .option('--limit <count>', 'how many lines', parseCount, 100)
    .option('--node <name>', 'only of this node')
    .option('--router <name>', 'only of this router')
    .option('--service <name>', 'only of this service')
    .option('--status <status>', 'only with this status')
    .option('--from <time>', fromHelp, parseTime)
    .option('--to <time>', 'until when', parseTime)
    .option('--before <cursor>', 'older lines than a page before, by its "next" of --json')
    .description('show request log lines, newest first')
    .action(({ limit, ...filters }: { limit: number } & Record<string, string | undefined>) =>
      run(async (session) => {
        const body = await session.admin.get('logs', { limit: String(limit), ...filters })
        show(session, body as LogPage, logsText)
      }),
    )
}

function trafficText({ by, series }: Traffic, isSplit: boolean): string {
  const counted = ['REQUESTS', '1XX', '2XX', '3XX', '4XX', '5XX', 'NONE']
  const measured = ['IN', 'OUT', 'MEAN', 'P50', 'P90', 'P99']
  const time = isSplit ? ['TIME'] : []
  const rows = series.flatMap(({ key, points }) =>
    points.map((point) => [
      key === '' ? '(none)' : key,
      ...(isSplit ? [timeText(point.time)] : []),
      ...pointCells(point),
    ]),
  )
  return table([by.toUpperCase(), ...time, ...counted, ...measured], rows)
}

function pointCells({ requests, bytesIn, bytesOut, latency }: TrafficPoint): (string | number)[] {
  return [
    requests.total,
    requests.informational,
    requests.success,
    requests.redirection,
    requests.clientError,
    requests.serverError,
    requests.none,
    bytesText(bytesIn),
    bytesText(bytesOut),
    millisecondsText(latency.meanMs),
    millisecondsText(latency.p50Ms),
    millisecondsText(latency.p90Ms),
    millisecondsText(latency.p99Ms),
  ]
}

function logsText({ items }: LogPage): string {
  return table(
    [
      'TIME',
      'NODE',
      'STATUS',
      'METHOD',
      'HOST',
      'PATH',
      'TOOK',
      'OUT',
      'ROUTER',
      'OUTCOME',
      'STANDS FOR',
    ],
    items.map((line) => [
      timeText(line.time),
      line.node,
      line.status,
      line.method,
      line.host,
      line.path,
      millisecondsText(line.durationMs),
      bytesText(line.bytesOut),
      line.router,
      line.outcome,
      line.weight.toFixed(line.weight < 10 ? 1 : 0),
    ]),
  )
}
