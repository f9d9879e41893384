/** Lists kept requests, newest first, with a cursor that stays valid while lines come and go. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TelemetryDatabase } from '../store/database.ts'
import {
  findLogPlace,
  type LogFilter,
  type LogPlace,
  type LogRecord,
  readLogs,
} from '../store/telemetry.ts'
import { telemetryLimits as limits } from './limits.ts'
import { idsOfNodes, type NodeNames } from './node-names.ts'
import { TelemetryQueryError } from './query-error.ts'

/** Which lines. */
export interface LogChoice {
  /** Name or id. */
  readonly node?: string | undefined
  readonly router?: string | undefined
  readonly service?: string | undefined
  /** Like 404, or 4xx for a class. */
  readonly status?: string | undefined
  /** What the path begins with. */
  readonly path?: string | undefined
  /** Its address. */
  readonly client?: string | undefined
  readonly method?: string | undefined
}

export interface LogQuery extends LogChoice {
  readonly limit?: number | undefined
  /** The `next` of the page before. */
  readonly before?: string | undefined
  readonly fromMs?: number | undefined
  readonly toMs?: number | undefined
}

export interface LogAnswer {
  readonly items: readonly LogItem[]
  /** The cursor of the next, older page; null: there is none. */
  readonly next: string | null
}

export interface LogItem {
  readonly id: string
  readonly time: string
  readonly node: string
  readonly router: string
  readonly service: string
  readonly server: string
  readonly entryPoint: string
  readonly clientAddress: string
  readonly method: string
  readonly host: string
  readonly path: string
  readonly protocol: string
  /** 0: none was sent. */
  readonly status: number
  readonly outcome: string
  readonly bytesIn: number
  readonly bytesOut: number
  readonly durationMs: number
  /** Null: no byte came from a server. */
  readonly firstByteMs: number | null
  readonly attempts: number
  readonly userAgent: string
  /** Empty where it is not known. */
  readonly country: string
  readonly query: string
  readonly referrer: string
  readonly requestId: string
  readonly tlsVersion: string
  readonly weight: number
}

const itemsDefault = 100
const oldest: LogPlace = Object.freeze({ timeMs: 0, id: 0 })
const cursorPattern = /^(\d{1,16})-(\d{1,16})$/

export async function queryLogs(
  db: TelemetryDatabase,
  nodes: NodeNames,
  query: LogQuery,
): Promise<LogAnswer> {
  const limit = query.limit ?? itemsDefault
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > limits.logItemsMax) {
    throw new TelemetryQueryError('limit', `is not a number from 1 to ${limits.logItemsMax}`)
  }
  const names = await nodes.nodeNames()
  const filter = filterOf(query, names)
  // One line more than asked for tells whether there is another page.
  const range = { from: startOf(query), until: untilOf(query), limit: limit + 1 }
  const rows = await scan(db, range, filter)
  const items = rows.slice(0, limit)
  const last = rows.length > limit ? items.at(-1) : undefined
  const nameOf = new Map(names.map(({ id, name }) => [id, name]))
  return {
    items: items.map((row) => toItem(row, nameOf.get(row.node) ?? row.node)),
    next: last === undefined ? null : `${last.time_ms}-${last.id}`,
  }
}

type Names = Awaited<ReturnType<NodeNames['nodeNames']>>

export function filterOf(choice: LogChoice, names: Names): LogFilter {
  return {
    nodes: choice.node === undefined ? undefined : idsOfNodes([choice.node], names),
    router: choice.router,
    service: choice.service,
    status: choice.status === undefined ? undefined : readStatus(choice.status),
    pathPrefix: choice.path,
    client: choice.client,
    method: choice.method,
  }
}

function readStatus(text: string): { from: number; to: number } {
  const [, hundreds] = /^([1-5])xx$/.exec(text) ?? []
  if (hundreds !== undefined) {
    const from = 100 * Number(hundreds)
    return { from, to: from + 99 }
  }
  if (!/^\d{1,3}$/.test(text)) {
    throw new TelemetryQueryError('status', 'is not a status like 404 or a class like 4xx')
  }
  return { from: Number(text), to: Number(text) }
}

/** Lines are listed from just before this place. */
function startOf(query: LogQuery): LogPlace {
  const ends: LogPlace[] = [{ timeMs: Number.MAX_SAFE_INTEGER, id: 0 }]
  if (query.before !== undefined) {
    ends.push(readCursor(query.before))
  }
  if (query.toMs !== undefined) {
    ends.push({ timeMs: query.toMs, id: 0 })
  }
  return ends.reduce((a, b) => (isBefore(a, b) ? a : b))
}

function untilOf(query: LogQuery): LogPlace {
  return query.fromMs === undefined ? oldest : { timeMs: query.fromMs, id: 0 }
}

function readCursor(text: string): LogPlace {
  const match = cursorPattern.exec(text)
  if (match === null) {
    throw new TelemetryQueryError('before', 'is not a cursor of this list')
  }
  return { timeMs: Number(match[1]), id: Number(match[2]) }
}

function isBefore(a: LogPlace, b: LogPlace): boolean {
  return a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.id < b.id)
}

/**
 * Looks through the lines in slices of the time index, so that a filter which few lines pass does not stop
 * the event loop for the length of the table.
 */
async function scan(
  db: TelemetryDatabase,
  range: { readonly from: LogPlace; readonly until: LogPlace; readonly limit: number },
  filter: LogFilter,
): Promise<LogRecord[]> {
  const rows: LogRecord[] = []
  let { from } = range
  while (rows.length < range.limit && isBefore(range.until, from)) {
    const end = (await findLogPlace(db, from, limits.linesPerScan)) ?? oldest
    const until = isBefore(end, range.until) ? range.until : end
    const limit = range.limit - rows.length
    rows.push(...(await readLogs(db, { from, until, limit }, filter)))
    from = until
    await nextTurn()
  }
  return rows
}

export function toItem(row: LogRecord, node: string): LogItem {
  return {
    id: String(row.id),
    time: new Date(row.time_ms).toISOString(),
    node,
    router: row.router,
    service: row.service,
    server: row.server,
    entryPoint: row.entry_point,
    clientAddress: row.client_address,
    method: row.method,
    host: row.host,
    path: row.path,
    protocol: row.protocol,
    status: row.status,
    outcome: row.outcome,
    bytesIn: row.bytes_in,
    bytesOut: row.bytes_out,
    durationMs: row.duration_us / 1_000,
    firstByteMs: row.first_byte_us === 0 ? null : row.first_byte_us / 1_000,
    attempts: row.attempts,
    userAgent: row.user_agent,
    country: row.country,
    query: row.query,
    referrer: row.referrer,
    requestId: row.request_id,
    tlsVersion: row.tls_version,
    weight: row.weight,
  }
}
