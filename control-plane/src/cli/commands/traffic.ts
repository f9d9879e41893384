/** `sluice traffic`: what the fleet counted. */
import { type Command, Option } from 'commander'
import { type RunAction, show } from '../session.ts'
import { table } from '../table.ts'
import { bytesText, millisecondsText, parseTime, timeText } from '../values.ts'

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
