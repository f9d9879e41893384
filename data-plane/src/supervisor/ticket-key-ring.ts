/** Makes the keys of TLS session tickets for all workers, and replaces them while the node runs. */
import { randomBytes } from 'node:crypto'
import { TICKET_KEY_BYTES } from '../worker-protocol.ts'
import { limits } from './limits.ts'

export class TicketKeyRing {
  /** Newest first. */
  #keys: readonly Uint8Array[] = [randomBytes(TICKET_KEY_BYTES)]
  readonly #timer: NodeJS.Timeout

  constructor(onChange: () => void, everyMs: number = limits.ticketKeyMs) {
    this.#timer = setInterval(() => {
      this.#keys = [randomBytes(TICKET_KEY_BYTES), ...this.#keys].slice(0, limits.ticketKeysKept)
      onChange()
    }, everyMs).unref()
  }

  get keys(): readonly Uint8Array[] {
    return this.#keys
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
