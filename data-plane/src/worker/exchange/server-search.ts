/**
 * How an exchange comes to a connection: the server in turn, its idle connection or a dial, a wait where all
 * servers are at their cap, and the next server where a dial fails. Ends in one call of its listener, or in none after cancel. Hot: begin.
 */
import { limits } from '../../limits.ts'
import type { Dial, DialFailure, DialListener } from '../upstreams/dial.ts'
import type { UpstreamConnection } from '../upstreams/upstream-connection.ts'
import type { UpstreamServer } from '../upstreams/upstream-server.ts'
import type { UpstreamService } from '../upstreams/upstream-service.ts'
import type { Wait, Waiter } from '../upstreams/wait-queue.ts'

/** Why there is no connection. */
export type SearchFailure = 'no-server' | 'shed' | DialFailure

export interface SearchListener {
  readonly mayWait: boolean
  onConnection(connection: UpstreamConnection): void
  onNoConnection(failure: SearchFailure): void
}

export class ServerSearch implements DialListener, Waiter {
  /** Connections that were used or dialled. */
  attempts = 0
  /** Of the last attempt. */
  server: UpstreamServer | undefined
  readonly #listener: SearchListener
  #upstreams: UpstreamService | undefined
  /** Servers that may still be tried after the present one. */
  #serversLeft = 0
  #dial: Dial | undefined
  #wait: Wait | undefined

  constructor(listener: SearchListener) {
    this.#listener = listener
  }

  /** Forgets the exchange before. */
  reset(): void {
    this.attempts = 0
    this.server = undefined
    this.#upstreams = undefined
  }

  /** An idle connection at once; undefined when it comes later, or has failed. */
  begin(upstreams: UpstreamService): UpstreamConnection | undefined {
    this.#upstreams = upstreams
    this.#serversLeft = Math.min(limits.attemptsMax, upstreams.serverCount) - 1
    return this.#take(upstreams, upstreams.pick())
  }

  /** A fresh connection to the same server. */
  dialAgain(): void {
    if (this.server !== undefined) this.#open(this.server)
  }

  /** Whether there is another server that may be tried. */
  get canGoOn(): boolean {
    return this.#serversLeft > 0
  }

  /** On to the server after the one that failed. */
  goOn(): void {
    const upstreams = this.#upstreams
    const server = this.server
    if (upstreams === undefined || server === undefined) return
    this.#serversLeft -= 1
    const connection = this.#take(upstreams, upstreams.pickAfter(server))
    if (connection !== undefined) this.#listener.onConnection(connection)
  }

  cancel(): void {
    this.stopWaiting()
    this.#dial?.cancel()
    this.#dial = undefined
  }

  /** False: it does not wait. */
  stopWaiting(): boolean {
    const wait = this.#wait
    this.#wait = undefined
    wait?.leave()
    return wait !== undefined
  }

  onTurn(server: UpstreamServer, connection: UpstreamConnection | undefined): void {
    this.#wait = undefined
    if (connection === undefined) {
      this.#open(server)
      return
    }
    this.attempts += 1
    this.server = server
    this.#listener.onConnection(connection)
  }

  onWaitOver(isTimeout: boolean): void {
    this.#wait = undefined
    this.#listener.onNoConnection(isTimeout ? 'shed' : 'no-server')
  }

  onConnected(connection: UpstreamConnection): void {
    this.#dial = undefined
    this.#listener.onConnection(connection)
  }

  /** Nothing was sent, so any request may go to the next server. */
  onDialFailed(failure: DialFailure): void {
    this.#dial = undefined
    if (failure !== 'exhausted' && this.canGoOn) this.goOn()
    else this.#listener.onNoConnection(failure)
  }

  #take(
    upstreams: UpstreamService,
    server: UpstreamServer | undefined,
  ): UpstreamConnection | undefined {
    if (server === undefined) {
      this.#waitForTurn(upstreams)
      return undefined
    }
    const connection = server.checkOut()
    if (connection === undefined) {
      this.#open(server)
      return undefined
    }
    this.attempts += 1
    this.server = server
    return connection
  }

  #waitForTurn(upstreams: UpstreamService): void {
    const canWait = upstreams.serverCount > 0 || upstreams.isAwaitingNames
    if (canWait && this.#listener.mayWait) this.#wait = upstreams.queue.join(this)
    if (this.#wait === undefined) this.#listener.onNoConnection(canWait ? 'shed' : 'no-server')
  }

  #open(server: UpstreamServer): void {
    this.attempts += 1
    this.server = server
    this.#dial = server.dial(this)
  }
}
