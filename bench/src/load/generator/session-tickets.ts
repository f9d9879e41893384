/**
 * The TLS sessions that a server gave, kept as a client keeps them: one of TLS 1.3 is used once (RFC 8446
 * appendix C.4), so each new handshake needs a ticket from an earlier one.
 */
export class SessionTickets {
  readonly #tickets: Buffer[] = []
  readonly #ticketsMax: number

  constructor(ticketsMax: number) {
    this.#ticketsMax = ticketsMax
  }

  put(ticket: Buffer): void {
    if (this.#tickets.length < this.#ticketsMax) this.#tickets.push(ticket)
  }

  /** The newest, since servers forget the keys of old ones. */
  take(): Buffer | undefined {
    return this.#tickets.pop()
  }
}
