/**
 * One attempt to connect to a server: to its address, and where that takes long or fails, in a race with its
 * address of the other family (RFC 8305). Ends in exactly one call of its listener, or in none after cancel.
 */
import { isIPv6 } from 'node:net'
import { limits } from '../../limits.ts'
import type { Deadline } from '../deadline-sweep.ts'
import type { DialOutcome, PendingDial } from '../transport/dialler.ts'
import { UpstreamConnection } from './upstream-connection.ts'
import type { UpstreamContext, UpstreamServer } from './upstream-server.ts'

/** Why a dial did not give a connection. 'exhausted': this process or machine has nothing left to dial with. */
export type DialFailure = 'refused' | 'timeout' | 'exhausted'

/** No fault of the server, and the next one would meet it too. */
const EXHAUSTION = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])

export interface DialListener {
  onConnected(connection: UpstreamConnection): void
  onDialFailed(failure: DialFailure): void
}

export class Dial implements Deadline {
  deadlineAt: number
  sweepIndex = -1
  readonly #server: UpstreamServer
  readonly #context: UpstreamContext
  readonly #listener: DialListener
  readonly #attempts = new Set<Attempt>()
  #raceTimer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(server: UpstreamServer, context: UpstreamContext, listener: DialListener) {
    const { host, alternative, connectMs } = server.settings
    this.#server = server
    this.#context = context
    this.#listener = listener
    this.deadlineAt = context.deadlines.after(connectMs)
    context.deadlines.add(this)
    // Not a time-out: the sweep would begin the race too late.
    if (alternative !== '') {
      this.#raceTimer = setTimeout(() => this.#tryAlternative(), limits.familyRaceMs)
    }
    this.#try(host)
  }

  cancel(): void {
    if (this.#isOver) return
    this.#abandon()
    this.#server.admitWaiting()
  }

  onDeadline(): void {
    this.#fail('timeout')
  }

  win(attempt: Attempt): void {
    this.#attempts.delete(attempt)
    this.#finish()
    const connection = new UpstreamConnection(this.#server, this.#context)
    const transport = attempt.pending.adopt(connection)
    connection.attach(transport)
    transport.start()
    this.#listener.onConnected(connection)
    const { alternative, name } = this.#server.settings
    if (attempt.host === alternative) name?.prefer(isIPv6(attempt.host) ? 6 : 4)
  }

  /** `code`: a system error's name. */
  lose(attempt: Attempt, code: string): void {
    this.#attempts.delete(attempt)
    if (EXHAUSTION.has(code)) this.#fail('exhausted')
    else if (this.#raceTimer !== undefined) this.#tryAlternative()
    else if (this.#attempts.size === 0) this.#fail('refused')
  }

  #try(host: string): void {
    this.#attempts.add(new Attempt(this, this.#context, host, this.#server.settings.port))
  }

  #tryAlternative(): void {
    clearTimeout(this.#raceTimer)
    this.#raceTimer = undefined
    this.#try(this.#server.settings.alternative)
  }

  /** The exchange goes on first, so that it is not behind one that came later. */
  #fail(failure: DialFailure): void {
    if (this.#isOver) return
    this.#abandon()
    this.#listener.onDialFailed(failure)
    this.#server.admitWaiting()
  }

  #abandon(): void {
    this.#finish()
    this.#server.release()
  }

  #finish(): void {
    this.#isOver = true
    clearTimeout(this.#raceTimer)
    this.#context.deadlines.remove(this)
    for (const { pending } of this.#attempts) pending.cancel()
    this.#attempts.clear()
  }
}

/** One address of a dial. Once it is cancelled it says nothing more. */
class Attempt implements DialOutcome {
  readonly host: string
  readonly pending: PendingDial
  readonly #dial: Dial

  constructor(dial: Dial, { dialler }: UpstreamContext, host: string, port: number) {
    this.#dial = dial
    this.host = host
    this.pending = dialler.dial(host, port, this)
  }

  onConnected(): void {
    this.#dial.win(this)
  }

  onRefused(code: string): void {
    this.#dial.lose(this, code)
  }
}
