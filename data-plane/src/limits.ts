/**
 * Every bound of a worker: its unit, what happens when it is reached, and how it relates to the others.
 * Reaching one gives a fixed answer and moves a counter; nothing queues without a bound.
 */
import assert from 'node:assert/strict'

export const defaultLimits = Object.freeze({
  /** Longer: 414. */
  requestLineBytesMax: 8_192,
  /** Start line and fields. Longer: 431 to a client, 502 for a server's answer. */
  headBytesMax: 32_768,
  /** More: 431, or 502 for a server's answer. */
  fieldsMax: 100,
  /** Longer: 400. */
  methodBytesMax: 32,
  /** The whole chunk-size line, extensions included. Longer: 400, or the answer is cut off. */
  chunkLineBytesMax: 256,
  /** Hexadecimal digits of a chunk size, leading zeros included. More: 400, or the answer is cut off. */
  chunkSizeDigitsMax: 16,
  /** Fields after the last chunk; they are checked and dropped. Longer: 400, or the answer is cut off. */
  trailerBytesMax: 8_192,

  /** Elements of a trusted peer's X-Forwarded-For that are looked at for the client. More: the last one counts. */
  forwardedHopsMax: 32,

  /** One read from a socket; also what is held of pipelined requests before reading stops. */
  readBytesMax: 65_536,
  /** Room of the output buffer beyond one read: a head, chunk framing, an own answer. */
  outputSpareBytes: 36_864,
  /** Bytes waiting in a TLS socket before its source is paused. */
  tlsPendingBytesMax: 131_072,

  /** From a connection's first byte, or the request's before it: 408. Without any byte: closed silently. */
  headTimeoutMs: 10_000,
  /** From the accept to a finished TLS handshake; then the connection is closed. */
  handshakeTimeoutMs: 10_000,
  /** A PROXY protocol header of version 1, line end included. Longer: closed without an answer. */
  proxyLineBytesMax: 107,
  /** The same of version 2: the fixed part, addresses and TLVs. */
  proxyHeaderBytesMax: 16 + 4_096,
  /** No request on a kept connection: closed. */
  clientIdleTimeoutMs: 75_000,
  /** No progress of a body in either direction on the client's side: closed. */
  bodyIdleTimeoutMs: 60_000,
  /** No byte in either direction of an upgraded connection: closed. */
  tunnelIdleTimeoutMs: 3_600_000,
  /** How long a stopping worker waits for the other sides' FINs after the drain's grace is over. */
  lastFinTimeoutMs: 500,
  /** A request body of at most this length is read and dropped when the node answers itself. */
  drainedBodyBytesMax: 65_536,
  /** After an answer that ends the connection: how long, and how much, a client's bytes are read away. */
  lingerTimeoutMs: 2_000,
  lingerBytesMax: 1_048_576,

  /** A kept server connection without use is closed; shorter when the server's Keep-Alive field says so. */
  upstreamIdleTimeoutMs: 55_000,
  /** How long before a server's own announced time-out a kept connection is no longer used. */
  upstreamIdleMarginMs: 1_000,
  /** How long a draining worker waits for the first request of a connection that it has accepted. */
  drainedFirstRequestMs: 1_000,
  /** Servers tried for one exchange, when the connect itself fails. Then: 502 or 504. */
  attemptsMax: 3,

  /** Connections of one worker from clients. More are closed at once and counted as shed. */
  clientConnectionsMax: 32_768,
  /**
   * The same for one client: an IPv4 address or the first 64 bits of an IPv6 one. 0: no bound, since a load
   * balancer or a large network may stand behind one address. Trusted peers have none.
   */
  connectionsPerClientMax: 0,
  /**
   * File descriptors that connections leave for dials, listening handles and what Node opens itself. A client
   * that would take one of them is closed at once and counted as shed; a dial that finds none left gives 503.
   */
  descriptorsReserved: 64,
  /** The same warning is given to the operator at most this often, with how often it held. */
  warningIntervalMs: 60_000,
  /** How often deadlines are looked at: the precision of all time-outs above. */
  deadlineTickMs: 250,
  /** Exchanges that took longer count as notable in the log sample. */
  slowExchangeMs: 1_000,
})

/** JSON of limits that are not the default ones, for a worker process. */
export const CHANGES_VARIABLE = 'SLUICE_WORKER_LIMITS'

export type LimitChanges = Readonly<Partial<Record<keyof typeof defaultLimits, number>>>

const changes: LimitChanges = JSON.parse(process.env[CHANGES_VARIABLE] ?? '{}')

/** Computed once and frozen, so that the compiler of hot code can take them for constants. */
export const limits = Object.freeze({ ...defaultLimits, ...changes })

assert(limits.requestLineBytesMax < limits.headBytesMax, 'a request line is part of a head')
assert(limits.headTimeoutMs < limits.clientIdleTimeoutMs, 'a head is due before a quiet connection')
assert(limits.headBytesMax < limits.outputSpareBytes, 'a head fits beside one read in one write')
assert(limits.chunkSizeDigitsMax < limits.chunkLineBytesMax, 'a chunk size is part of its line')
assert(
  limits.upstreamIdleTimeoutMs < 60_000,
  'kept server connections end before the usual 60 s of servers do',
)
