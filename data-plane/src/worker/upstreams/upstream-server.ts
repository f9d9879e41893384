/**
 * One server of a service as a worker uses it: dials it and keeps its idle connections, newest first, since
 * the one used last is the least likely to have been closed by the server. Survives versions that keep it.
 */
import type { Deadline, DeadlineSweep } from '../deadline-sweep.ts'
import type { HeadParser } from '../http1/head-parser.ts'
import type { OutputBuffer } from '../http1/output-buffer.ts'
import type { Gauges } from '../observe/gauges.ts'
import type { Dialler, DialOutcome, PendingDial } from '../transport/dialler.ts'
import { UpstreamConnection } from './upstream-connection.ts'

export interface ServerSettings {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  /** HOST:PORT as it stands in a Host field. */
  readonly authority: string
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly idleConnectionsMax: number
}

/** What of the worker its server connections need. */
export interface UpstreamContext {
  readonly output: OutputBuffer
  readonly answerHead: HeadParser
  readonly deadlines: DeadlineSweep
  readonly gauges: Gauges
  readonly dialler: Dialler
}

export interface DialListener {
  onConnected(connection: UpstreamConnection): void
  onDialFailed(isTimeout: boolean): void
}

export class UpstreamServer {
  settings: ServerSettings
  readonly #context: UpstreamContext
  readonly #idle: UpstreamConnection[] = []
  #isRetired = false

  constructor(context: UpstreamContext, settings: ServerSettings) {
    this.#context = context
    this.settings = settings
  }

  /** The idle connection that was used last, or undefined. */
  checkOut(): UpstreamConnection | undefined {
    const connection = this.#idle.pop()
    if (connection !== undefined) this.#context.gauges.upstreamConnectionsIdle -= 1
    return connection
  }

  /** Keeps a connection on which both messages ended cleanly, or closes it. */
  giveBack(connection: UpstreamConnection): void {
    if (this.#isRetired || this.#idle.length >= this.settings.idleConnectionsMax) {
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

  /** No version has this server any more: idle connections end now, the others with their exchange. */
  retire(): void {
    this.#isRetired = true
    for (let connection = this.checkOut(); connection !== undefined; connection = this.checkOut()) {
      connection.destroy()
    }
  }

  dial(listener: DialListener): Dial {
    return new Dial(this, this.#context, listener)
  }
}

/** One attempt to connect; ends in exactly one call of its listener, or in none after cancel. */
export class Dial implements DialOutcome, Deadline {
  deadlineAt: number
  sweepIndex = -1
  readonly #server: UpstreamServer
  readonly #context: UpstreamContext
  readonly #listener: DialListener
  readonly #pending: PendingDial

  constructor(server: UpstreamServer, context: UpstreamContext, listener: DialListener) {
    const { host, port, connectMs } = server.settings
    this.#server = server
    this.#context = context
    this.#listener = listener
    this.deadlineAt = context.deadlines.after(connectMs)
    context.deadlines.add(this)
    this.#pending = context.dialler.dial(host, port, this)
  }

  cancel(): void {
    this.#context.deadlines.remove(this)
    this.#pending.cancel()
  }

  onConnected(): void {
    this.#context.deadlines.remove(this)
    const connection = new UpstreamConnection(this.#server, this.#context)
    const transport = this.#pending.adopt(connection)
    connection.attach(transport)
    transport.start()
    this.#listener.onConnected(connection)
  }

  onRefused(): void {
    this.#context.deadlines.remove(this)
    this.#listener.onDialFailed(false)
  }

  onDeadline(): void {
    this.cancel()
    this.#listener.onDialFailed(true)
  }
}
