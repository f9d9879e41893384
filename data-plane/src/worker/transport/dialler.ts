/** The seam to whatever opens connections to servers: sockets, or a simulation. */
import type { Transport, TransportListener } from './transport.ts'

/** Hears of one attempt to connect: one call, never from within `dial`, and none after `cancel`. */
export interface DialOutcome {
  onConnected(): void
  /** `code`: a system error's name. */
  onRefused(code: string): void
}

export interface PendingDial {
  /** After onConnected, once: the connection as a transport that does not read yet. */
  adopt(listener: TransportListener): Transport
  /** Gives up an attempt that has had no outcome. */
  cancel(): void
}

export interface Dialler {
  /** Tries for as long as it is not cancelled: time-outs are the caller's. */
  dial(host: string, port: number, outcome: DialOutcome): PendingDial
}
