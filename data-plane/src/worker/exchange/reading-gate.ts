/** Whether a client's bytes are read: not while one of the reasons to wait holds. Hot. */
import type { Transport } from '../transport/transport.ts'

export class ReadingGate {
  #transport: Transport | undefined
  /** The server takes no more of the request's body for now. */
  isServerBehind = false
  /** Requests sent ahead are held, and they are enough. */
  isHolding = false

  attach(transport: Transport): void {
    this.#transport = transport
  }

  waitForServer(mustWait: boolean): void {
    const before = this.isServerBehind || this.isHolding
    this.isServerBehind = mustWait
    this.#update(before)
  }

  hold(mustWait: boolean): void {
    const before = this.isServerBehind || this.isHolding
    this.isHolding = mustWait
    this.#update(before)
  }

  #update(before: boolean): void {
    const now = this.isServerBehind || this.isHolding
    if (now === before) return
    if (now) this.#transport?.pause()
    else this.#transport?.resume()
  }
}
