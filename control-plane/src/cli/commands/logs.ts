/** `sluice logs`: the request lines that were kept, listed, exported, or followed as they come. */
import { setTimeout as delay } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { CommandFailure, exitCodes } from '../failures.ts'
import { type RunAction, type Session, show } from '../session.ts'
import { table } from '../table.ts'
import { bytesText, millisecondsText, parseCount, parseTime, timeText } from '../values.ts'

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

type Filters = Readonly<Record<string, string | undefined>>

interface LogOptions {
  readonly limit: number
  readonly follow?: true
  readonly export?: true
  readonly raise?: number
  readonly for?: number
}

const columns = 'TIME,NODE,STATUS,METHOD,HOST,PATH,TOOK,OUT,ROUTER,OUTCOME,STANDS FOR'.split(',')
const raiseSecondsDefault = 300
const reconnectMs = 1_000
const reconnectsMax = 60

export function addLogCommands(program: Command, run: RunAction): void {
  program
    .command('logs')
    .option('--limit <count>', 'how many lines', parseCount, 100)
    .option('--node <name>', 'only of this node')
    .option('--router <name>', 'only of this router')
    .option('--service <name>', 'only of this service')
    .option('--status <status>', 'only with this status, or of a class like 5xx')
    .option('--path <prefix>', 'only with a path that begins like this')
    .option('--client <address>', 'only of this client')
    .option('--method <method>', 'only with this method')
    .option('--from <time>', 'since when: a time, or how long ago like 15m', parseTime)
    .option('--to <time>', 'until when', parseTime)
    .option('--before <cursor>', 'older lines than a page before, by its "next" of --json')
    .option('--follow', 'go on with lines as they come, until interrupted')
    .option('--export', 'all lines, one JSON object in a line')
    .option('--raise <rate>', 'keep more lines for a while, like 200/s on each node', parseRate)
    .option('--for <duration>', 'how long to raise, like 30s or 5m (default: 5m)', parseSeconds)
    .description('show request log lines, newest first')
    .action(({ limit, follow, export: isExport, raise, for: seconds, ...filters }: LogOptions) =>
      run(async (session) => {
        const chosen: Filters = filters
        if (raise !== undefined) await raiseLogs(session, raise, seconds, chosen.node)
        if (follow === true) return followLogs(session, chosen)
        if (isExport === true) return exportLogs(session, chosen)
        const body = await session.admin.get('logs', { limit: String(limit), ...chosen })
        show(session, body as LogPage, ({ items }) => table(columns, items.map(cells)))
      }),
    )
}

async function raiseLogs(
  session: Session,
  perSecond: number,
  seconds = raiseSecondsDefault,
  node?: string,
): Promise<void> {
  const body = { perSecond, seconds, ...(node === undefined ? {} : { node }) }
  await session.admin.send('POST', 'logs/raise', { body })
}

async function exportLogs(session: Session, filters: Filters): Promise<void> {
  for await (const line of session.admin.lines('logs/export', filters)) session.write(line)
}

/** A control plane that starts again is waited for; what it stored meanwhile is not shown. */
async function followLogs(session: Session, filters: Filters): Promise<void> {
  const { from: _from, to: _to, before: _before, ...choice } = filters
  let hasBegun = false
  for (let failures = 0; failures < reconnectsMax; failures += 1) {
    try {
      for await (const line of session.admin.lines('logs/follow', choice)) {
        hasBegun = true
        failures = 0
        if (line.startsWith('data: [')) showLines(session, JSON.parse(line.slice('data: '.length)))
        if (line.startsWith('data: {')) session.write('(lines were left out: too many at once)')
      }
    } catch (error) {
      const isGone = error instanceof CommandFailure && error.exitCode === exitCodes.unreachable
      if (!isGone || !hasBegun) throw error
    }
    await delay(reconnectMs)
  }
}

function showLines(session: Session, items: readonly LogLine[]): void {
  for (const item of items) {
    session.write(session.isJson ? JSON.stringify(item) : cells(item).join('  '))
  }
}

function cells(line: LogLine): (string | number)[] {
  return [
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
  ]
}

function parseRate(text: string): number {
  const [, count] = /^([1-9]\d{0,3})\/s$/.exec(text) ?? []
  if (count === undefined) throw new InvalidArgumentError('It must be like 200/s.')
  return Number(count)
}

function parseSeconds(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,3})([sm])$/.exec(text) ?? []
  if (count === undefined) throw new InvalidArgumentError('It must be like 30s or 5m.')
  return Number(count) * (unit === 'm' ? 60 : 1)
}
