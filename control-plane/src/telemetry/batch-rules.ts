/** The border of telemetry: turns batches from the wire into rows, or says which field is wrong. Pure. */
import {
  type CounterBatch,
  type LogBatch,
  type LogLine,
  Outcome,
  type TrafficRow,
} from '@sluice/proto'
import type { NewLogRecord, TrafficRecord } from '../store/telemetry.ts'
import { statuses } from './breakdown.ts'
import { telemetryLimits as limits } from './limits.ts'
import { packBreakdown, packHistogram } from './packed-counts.ts'

export interface Refusal {
  readonly kind: 'refused'
  readonly reason: string
}

export interface BatchIdentity {
  readonly bootId: string
  readonly sequence: number
}

export type Reading<Row> =
  | (BatchIdentity & { readonly kind: 'read'; readonly rows: readonly Row[] })
  | Refusal

interface Sender {
  readonly nodeId: string
  readonly nowMs: number
}

const minuteMs = 60_000
const bootIdPattern = /^[\x21-\x7e]+$/
const namePattern = /^[a-z0-9.-]*$/

const outcomes = new Map<Outcome, string>([
  [Outcome.ORIGIN_ANSWERED, 'origin-answered'],
  [Outcome.PROXY_ANSWERED, 'proxy-answered'],
  [Outcome.CLIENT_LEFT, 'client-left'],
  [Outcome.REQUEST_REFUSED, 'request-refused'],
  [Outcome.UPSTREAM_FAILED, 'upstream-failed'],
  [Outcome.UPSTREAM_TIMED_OUT, 'upstream-timed-out'],
  [Outcome.SHED, 'shed'],
])

export function readCounterBatch(batch: CounterBatch, sender: Sender): Reading<TrafficRecord> {
  const refusal = checkIdentity(batch) ?? checkLength('rows', batch.rows, limits.rowsPerBatchMax)
  if (refusal !== undefined) {
    return refusal
  }
  const rows: TrafficRecord[] = []
  for (const [index, row] of batch.rows.entries()) {
    const reading = readTrafficRow(row, sender)
    if ('reason' in reading) {
      return refuse(`rows[${index}].${reading.field} ${reading.reason}`)
    }
    rows.push(reading)
  }
  return { kind: 'read', bootId: batch.bootId, sequence: Number(batch.sequence), rows }
}

export function readLogBatch(batch: LogBatch, sender: Sender): Reading<NewLogRecord> {
  const refusal = checkIdentity(batch) ?? checkLength('lines', batch.lines, limits.linesPerBatchMax)
  if (refusal !== undefined) {
    return refusal
  }
  const rows: NewLogRecord[] = []
  for (const [index, line] of batch.lines.entries()) {
    const problem = checkLine(line, sender)
    if (problem !== undefined) {
      return refuse(`lines[${index}].${problem.field} ${problem.reason}`)
    }
    rows.push(toLogRecord(line, sender.nodeId))
  }
  return { kind: 'read', bootId: batch.bootId, sequence: Number(batch.sequence), rows }
}

interface FieldProblem {
  readonly field: string
  readonly reason: string
}

function refuse(reason: string): Refusal {
  return { kind: 'refused', reason }
}

function checkIdentity(batch: { bootId: string; sequence: bigint }): Refusal | undefined {
  if (batch.bootId.length > limits.bootIdCharactersMax || !bootIdPattern.test(batch.bootId)) {
    return refuse(`boot_id is not 1 to ${limits.bootIdCharactersMax} printable characters`)
  }
  if (batch.sequence < 1n || batch.sequence > BigInt(Number.MAX_SAFE_INTEGER)) {
    return refuse(`sequence ${batch.sequence} is out of range; the first batch of a boot is 1`)
  }
  return undefined
}

function checkLength(
  field: string,
  list: readonly unknown[],
  lengthMax: number,
): Refusal | undefined {
  return list.length > lengthMax
    ? refuse(`${field} has ${list.length} entries; at most ${lengthMax} are taken`)
    : undefined
}

function readTrafficRow(row: TrafficRow, sender: Sender): TrafficRecord | FieldProblem {
  const problem =
    checkMinute(row.minuteMs, sender.nowMs) ??
    checkName('router', row.router) ??
    checkName('service', row.service) ??
    checkCounts(row)
  if (problem !== undefined) {
    return problem
  }
  const latency = packHistogram('latency', row.latency, limits)
  if (latency.kind === 'refused') {
    return latency
  }
  const firstByte = packHistogram('firstByte', row.firstByte, limits)
  if (firstByte.kind === 'refused') {
    return firstByte
  }
  const breakdown = packBreakdown(row.breakdown, limits)
  if (breakdown.kind === 'refused') {
    return breakdown
  }
  const requests = row.requests
  return {
    minute_ms: Number(row.minuteMs),
    node: sender.nodeId,
    router: row.router,
    service: row.service,
    informational: Number(requests?.informational ?? 0n),
    success: Number(requests?.success ?? 0n),
    redirection: Number(requests?.redirection ?? 0n),
    client_error: Number(requests?.clientError ?? 0n),
    server_error: Number(requests?.serverError ?? 0n),
    none: Number(requests?.none ?? 0n),
    bytes_in: Number(row.bytesIn),
    bytes_out: Number(row.bytesOut),
    retries: Number(row.retries),
    latency: latency.packed,
    first_byte: firstByte.packed,
    breakdown: breakdown.packed,
  }
}

function checkMinute(timeMs: bigint, nowMs: number): FieldProblem | undefined {
  if (timeMs % BigInt(minuteMs) !== 0n) {
    return { field: 'minute_ms', reason: `${timeMs} is not a whole minute` }
  }
  return checkTime('minute_ms', timeMs, nowMs)
}

function checkTime(field: string, timeMs: bigint, nowMs: number): FieldProblem | undefined {
  // A row in the future would never be removed, and a log line there would always be the newest.
  return timeMs > BigInt(nowMs + limits.aheadMsMax)
    ? { field, reason: `${timeMs} is more than a day ahead of the control plane's clock` }
    : undefined
}

function checkName(field: string, name: string): FieldProblem | undefined {
  return name.length > limits.nameCharactersMax || !namePattern.test(name)
    ? { field, reason: 'is not the name of a resource' }
    : undefined
}

function checkCounts(row: TrafficRow): FieldProblem | undefined {
  const requests = row.requests
  for (const status of statuses) {
    if (requests !== undefined && requests[status] > limits.countMax) {
      return { field: `requests.${status}`, reason: `is above ${limits.countMax}` }
    }
  }
  if (row.retries > limits.countMax) {
    return { field: 'retries', reason: `is above ${limits.countMax}` }
  }
  if (row.bytesIn > limits.sumMax) {
    return { field: 'bytes_in', reason: `is above ${limits.sumMax}` }
  }
  if (row.bytesOut > limits.sumMax) {
    return { field: 'bytes_out', reason: `is above ${limits.sumMax}` }
  }
  return undefined
}

function checkLine(line: LogLine, sender: Sender): FieldProblem | undefined {
  if (!Number.isFinite(line.weight) || line.weight < 0) {
    return { field: 'weight', reason: 'is not a number from 0 up' }
  }
  if (line.status > 999) {
    return { field: 'status', reason: `${line.status} is not a status` }
  }
  for (const field of ['bytesIn', 'bytesOut', 'durationUs', 'firstByteUs'] as const) {
    if (line[field] > limits.sumMax) {
      return { field, reason: `is above ${limits.sumMax}` }
    }
  }
  return (
    checkTime('time_ms', line.timeMs, sender.nowMs) ??
    checkName('router', line.router) ??
    checkName('service', line.service)
  )
}

function toLogRecord(line: LogLine, nodeId: string): NewLogRecord {
  return {
    time_ms: Number(line.timeMs),
    node: nodeId,
    router: line.router,
    service: line.service,
    server: cut(line.server),
    entry_point: cut(line.entryPoint),
    client_address: cut(line.clientAddress),
    method: cut(line.method),
    host: cut(line.host),
    path: line.path.slice(0, limits.pathCharactersMax),
    protocol: cut(line.protocol),
    status: line.status,
    outcome: outcomes.get(line.outcome) ?? 'unknown',
    bytes_in: Number(line.bytesIn),
    bytes_out: Number(line.bytesOut),
    duration_us: Number(line.durationUs),
    first_byte_us: Number(line.firstByteUs),
    attempts: line.attempts,
    user_agent: cut(line.userAgent),
    weight: line.weight,
    country: '',
    query: line.query.slice(0, limits.pathCharactersMax),
    referrer: cut(line.referrer),
    request_id: cut(line.requestId),
    tls_version: cut(line.tlsVersion),
  }
}

function cut(text: string): string {
  return text.slice(0, limits.textCharactersMax)
}
