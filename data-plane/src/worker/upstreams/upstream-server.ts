/**
 * One server of a service as a worker uses it: dials it and keeps its idle connections, newest first, since
 * the one used last is the least likely to have been closed by the server. Survives versions that keep it.
 */
import type { ProxyHeaderVersion } from '../../configuration/services.ts'
import type { DeadlineSweep } from '../deadline-sweep.ts'
import type { HeadParser } from '../http1/head-parser.ts'
import type { OutputBuffer } from '../http1/output-buffer.ts'
import type { WatchedName } from '../names/watched-name.ts'
import type { Gauges } from '../observe/gauges.ts'
import type { Dialler } from '../transport/dialler.ts'
import { Dial, type DialListener } from './dial.ts'
import type { UpstreamConnection } from './upstream-connection.ts'
import type { WaitQueue } from './wait-queue.ts'

export interface ServerSettings {
  /** An address, without brackets. */
  readonly host: string
  /** An address of the other family; '' for none. */
  readonly alternative: string
  /** The name that has these addresses; undefined when the address itself is configured. */
  readonly name: WatchedName | undefined
  readonly port: number
  /** HOST:PORT as it stands in a Host field. */
  readonly authority: string
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly idleConnectionsMax: number
  /** 0: no cap. */
  readonly connectionsMax: number
  /** 0: any age. */
  readonly connectionAgeMaxMs: number
  /** What each connection begins with. */
  readonly proxyProtocol: ProxyHeaderVersion
}

/** What of the worker its server connections need. */
export interface UpstreamContext {
  readonly output: OutputBuffer
  readonly answerHead: HeadParser
  readonly deadlines: DeadlineSweep
  readonly gauges: Gauges
  readonly dialler: Dialler
}

export class UpstreamServer {
  readonly #context: UpstreamContext
  readonly #queue: WaitQueue
  readonly #idle: UpstreamConnection[] = []
  #settings: ServerSettings
  /** Open ones and dials. */
  #connectionCount = 0
  /** false: it gets no more exchanges, and its connections end with those that they have. */
  #isInTurn = true

  /** By the clock of the deadlines. */
  inTurnSince: number

  /** `queue`: where exchanges of its service wait. */
  constructor(context: UpstreamContext, queue: WaitQueue, settings: ServerSettings) {
    this.#context = context
    this.#queue = queue
    this.#settings = settings
    this.inTurnSince = context.deadlines.now
  }

  get settings(): ServerSettings {
    return this.#settings
  }

  /** Connections and dials that are in use, one for each exchange. */
  get exchangesOpen(): number {
    return this.#connectionCount - this.#idle.length
  }

  /** An exchange can have a connection without waiting. */
  get isFree(): boolean {
    return this.#idle.length > 0 || this.#hasRoom
  }

  /** Exchanges wait for its connections. */
  get isAwaited(): boolean {
    return !this.#queue.isEmpty
  }

  /** Idle connections above new bounds end. */
  configure(settings: ServerSettings): void {
    this.#settings = settings
    while (this.#idle.length > settings.idleConnectionsMax || this.#isOverfull) {
      const oldest = this.#idle.shift()
      if (oldest === undefined) return
      this.#context.gauges.upstreamConnectionsIdle -= 1
      oldest.destroy()
    }
  }

  /** The idle connection that was used last, or undefined. */
  checkOut(): UpstreamConnection | undefined {
    const connection = this.#idle.pop()
    if (connection !== undefined) this.#context.gauges.upstreamConnectionsIdle -= 1
    return connection
  }

  /** Hands a connection on which both messages ended cleanly to who waits, or keeps or closes it. */
  giveBack(connection: UpstreamConnection): void {
    if (!this.#isInTurn || this.#isOverfull) {
      connection.destroy()
      return
    }
    const waiter = this.#queue.shift()
    if (waiter !== undefined) {
      waiter.onTurn(this, connection)
      return
    }
    if (this.#idle.length >= this.#settings.idleConnectionsMax) {
      connection.destroy()
      return
    }
    this.#idle.push(connection)
    this.#context.gauges.upstreamConnectionsIdle += 1
  }

  /** An idle connection ended. */
  forget(connection: UpstreamConnection): void {
    const index = this.#idle.indexOf(connection)
    if (index === -1) return
    this.#idle.splice(index, 1)
    this.#context.gauges.upstreamConnectionsIdle -= 1
  }

  /** Exchanges may come (again). */
  enterTurn(): void {
    if (!this.#isInTurn) this.inTurnSince = this.#context.deadlines.now
    this.#isInTurn = true
  }

  /** It has no weight or is in no version any more: idle connections end now, others with their exchange. */
  leaveTurn(): void {
    this.#isInTurn = false
    for (let connection = this.checkOut(); connection !== undefined; connection = this.checkOut()) {
      connection.destroy()
    }
  }

  dial(listener: DialListener): Dial {
    this.#connectionCount += 1
    return new Dial(this, this.#context, listener)
  }

  /** A connection or a dial ended. Follow with admitWaiting when the exchange that had it has gone on. */
  release(): void {
    this.#connectionCount -= 1
  }

  /** Lets those that wait longest dial, as far as the cap allows. */
  admitWaiting(): void {
    let isAdmitted = this.admitOne()
    while (isAdmitted) isAdmitted = this.admitOne()
  }

  /** Lets the one that waits longest dial. False: there is none, or no room. */
  admitOne(): boolean {
    const waiter = this.#isInTurn && this.#hasRoom ? this.#queue.shift() : undefined
    waiter?.onTurn(this, undefined)
    return waiter !== undefined
  }

  get #hasRoom(): boolean {
    const most = this.#settings.connectionsMax
    return most === 0 || this.#connectionCount < most
  }

  /** The cap was lowered. */
  get #isOverfull(): boolean {
    const most = this.#settings.connectionsMax
    return most !== 0 && this.#connectionCount > most
  }
}
