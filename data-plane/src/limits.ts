/**
 * Every bound of a worker: its unit, what happens when it is reached, and how it relates to the others.
 * Reaching one gives a fixed answer and moves a counter; nothing queues without a bound. An operator may
 * change some of them (`adjustableLimits`); limit-options.ts reads how.
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
  /**
   * Of one write to a TLS handle. With all that TLS adds it fits into one of the 16 KiB buffers that the handle
   * keeps for good, so that a connection has one of them after a large answer, and not one for each write.
   */
  tlsWriteBytesMax: 16_256,
  /** The same of a connection that has sent more than the second figure: fewer writes, and a buffer of that size. */
  tlsLargeWriteBytesMax: 65_024,
  tlsSmallWritesBytesMax: 262_144,
  /** Such connections of a worker. More: they go on with small writes. */
  tlsLargeWritersMax: 256,
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
  /**
   * After an answer that ends the connection: how long, and how much, a client's bytes are read away. A client
   * that sends more, but does not read, is not read from until the time is over.
   */
  lingerTimeoutMs: 2_000,
  lingerBytesMax: 16_777_216,

  /** A kept server connection without use is closed; shorter when the server's Keep-Alive field says so. */
  upstreamIdleTimeoutMs: 55_000,
  /** How long before a server's own announced time-out a kept connection is no longer used. */
  upstreamIdleMarginMs: 1_000,
  /** Quiet before TCP asks whether the peer is still there: below what firewalls and balancers forget after. */
  tcpKeepAliveMs: 45_000,
  /** How long a draining worker waits for the first request of a connection that it has accepted. */
  drainedFirstRequestMs: 1_000,
  /** Of a request body, what is kept to send it once more; a longer one is sent only once. */
  replayedBodyBytesMax: 65_536,
  /** After so long a dial races with the other family's address (RFC 8305 section 5). */
  familyRaceMs: 250,

  /** Between two lookups of a name, whatever its time to live; also the wait after a failed one. */
  nameTtlMinMs: 1_000,
  nameTtlMaxMs: 300_000,
  /** Of names that the hosts file or the system's resolver has, which tell none. */
  localNameTtlMs: 5_000,
  /** Of one family; more are not used. */
  nameAddressesMax: 64,
  /** Servers that one report of a worker names as unhealthy. More: they are counted only. */
  unhealthyServersMax: 100,
  /** Lookups at a time; other names wait for their turn. */
  nameLookupsMax: 256,
  /** For each DNS server and try. */
  dnsTimeoutMs: 2_000,
  dnsTriesMax: 2,

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

export type LimitName = keyof typeof defaultLimits
export type LimitChanges = Readonly<Partial<Record<LimitName, number>>>

export interface Adjustable {
  readonly least: number
  readonly most: number
  /** For `--help`: what is bounded. */
  readonly what: string
}

const DAY_MS = 86_400_000
const GIBIBYTE = 1_073_741_824

/** What an operator may change, and how far. A head at most fills one read. */
export const adjustableLimits: Readonly<Partial<Record<LimitName, Adjustable>>> = Object.freeze({
  requestLineBytesMax: { least: 64, most: 65_535, what: 'a request line' },
  headBytesMax: { least: 128, most: defaultLimits.readBytesMax, what: 'start line and fields' },
  fieldsMax: { least: 8, most: 1_000, what: 'fields of a head' },
  trailerBytesMax: { least: 0, most: 65_536, what: 'fields after the last chunk' },
  headTimeoutMs: { least: 1, most: DAY_MS, what: 'the first byte to the end of a head' },
  handshakeTimeoutMs: { least: 1, most: DAY_MS, what: 'a TLS handshake' },
  clientIdleTimeoutMs: { least: 1, most: DAY_MS, what: 'no request on a kept connection' },
  bodyIdleTimeoutMs: { least: 1, most: DAY_MS, what: 'no progress of a body' },
  tunnelIdleTimeoutMs: { least: 1, most: DAY_MS, what: 'no byte of an upgraded connection' },
  drainedBodyBytesMax: { least: 0, most: GIBIBYTE, what: 'a body dropped to keep a connection' },
  lingerTimeoutMs: { least: 1, most: DAY_MS, what: 'reading away after the last answer' },
  lingerBytesMax: { least: 0, most: GIBIBYTE, what: 'read away after the last answer' },
  upstreamIdleTimeoutMs: { least: 1, most: DAY_MS, what: 'a kept server connection without use' },
  upstreamIdleMarginMs: { least: 0, most: DAY_MS, what: "before a server's announced time-out" },
  drainedFirstRequestMs: { least: 1, most: DAY_MS, what: 'a first request while draining' },
  attemptsMax: { least: 1, most: 100, what: 'servers tried for one exchange' },
  clientConnectionsMax: { least: 1, most: 1_000_000, what: 'client connections of a worker' },
  connectionsPerClientMax: { least: 0, most: 1_000_000, what: 'connections of one client; 0: any' },
  tlsSmallWritesBytesMax: { least: 0, most: GIBIBYTE, what: 'sent by TLS in small writes first' },
  tlsLargeWritersMax: { least: 0, most: 1_000_000, what: 'TLS connections that then write large' },
  descriptorsReserved: { least: 0, most: 100_000, what: 'file descriptors kept for dials' },
  forwardedHopsMax: { least: 1, most: 1_000, what: 'hops of X-Forwarded-For looked at' },
  replayedBodyBytesMax: { least: 0, most: 1_048_576, what: 'a body kept to be sent again' },
  deadlineTickMs: { least: 10, most: 1_000, what: 'the precision of time-outs' },
  slowExchangeMs: { least: 0, most: DAY_MS, what: 'from here an exchange is notable in logs' },
} satisfies Partial<Record<LimitName, Adjustable>>)

/** In each the first is below the second. */
const relations: readonly (readonly [LimitName, LimitName | number, string])[] = [
  ['requestLineBytesMax', 'headBytesMax', 'a request line is part of a head'],
  ['headTimeoutMs', 'clientIdleTimeoutMs', 'a head is due before a quiet connection'],
  ['chunkSizeDigitsMax', 'chunkLineBytesMax', 'a chunk size is part of its line'],
  [
    'upstreamIdleTimeoutMs',
    60_000,
    'kept server connections end before the usual 60 s of servers do',
  ],
  ['tlsWriteBytesMax', 16_384, 'it fits into one buffer with what TLS adds'],
  ['tlsLargeWriteBytesMax', 'readBytesMax', 'one read is at most a large write and a small rest'],
]

export interface BrokenRelation {
  readonly low: LimitName
  readonly high: LimitName | number
  readonly why: string
}

export function brokenRelations(changes: LimitChanges): BrokenRelation[] {
  const values = { ...defaultLimits, ...changes }
  return relations
    .filter(([low, high]) => values[low] >= (typeof high === 'number' ? high : values[high]))
    .map(([low, high, why]) => ({ low, high, why }))
}

/** JSON of LimitChanges, for the processes that a supervisor starts. It has checked them. */
export const CHANGES_VARIABLE = 'SLUICE_WORKER_LIMITS'

const changes: LimitChanges = JSON.parse(process.env[CHANGES_VARIABLE] ?? '{}')
assert.deepEqual(brokenRelations(changes), [], 'the limits fit each other')

/** Computed once and frozen, so that the compiler of hot code can take them for constants. */
export const limits = Object.freeze({
  ...defaultLimits,
  ...changes,
  /** Room of the output buffer beyond one read: a head, chunk framing, an own answer. */
  outputSpareBytes: (changes.headBytesMax ?? defaultLimits.headBytesMax) + 4_096,
} satisfies Record<LimitName | 'outputSpareBytes', number>)
