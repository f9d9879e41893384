/**
 * One worker process as the supervisor sees it: what it was told, what it answered, when it ended. The pool
 * decides what a worker should do; this file only carries it out, each wait bounded.
 */
import { type ChildProcess, fork } from 'node:child_process'
import type { Problem } from '@sluice/proto'
import type { Logger } from 'pino'
import type { SupervisorMessage, WorkerMessage, WorkerReport } from '../worker-protocol.ts'
import { reasonOf } from './errors.ts'
import { limits } from './limits.ts'
import { asSendHandle, type ListeningSocket } from './listening-sockets.ts'
import type { ResourceSet } from './resource-set.ts'

/** What every worker should run and listen on. Compared by identity. */
export interface Target {
  readonly version: bigint
  readonly hash: string
  readonly resources: ResourceSet
  readonly entryPoints: ReadonlyMap<string, BoundEntryPoint>
}

export interface BoundEntryPoint {
  readonly socket: ListeningSocket
  readonly protocol: string
}

export type WorkerState = 'starting' | 'idle' | 'applying' | 'ready' | 'draining' | 'ended'

export type StepOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'rejected'; readonly problems: readonly Problem[] }
  /** It ended or did not answer in time, and is not running any more. */
  | { readonly kind: 'lost'; readonly reason: string }

export interface WorkerProcessOptions {
  readonly program: string
  readonly environment: NodeJS.ProcessEnv
  readonly logger: Logger
  readonly onReport: (worker: WorkerProcess, report: WorkerReport) => void
  readonly onEnded: (worker: WorkerProcess) => void
}

interface Expectation {
  readonly fits: (message: WorkerMessage) => boolean
  readonly settle: (message: WorkerMessage | undefined) => void
}

const DONE: StepOutcome = { kind: 'done' }

/**
 * MiB of the space for young objects, which V8 otherwise lets grow to 16 under load and keeps. Few objects
 * outlive their request, so that collecting it more often costs next to nothing (bench/FINDINGS.md).
 */
const V8_FLAGS = ['--max-semi-space-size=1']

export class WorkerProcess {
  /** By the monotonic clock. */
  readonly startedAtMs = performance.now()
  readonly #child: ChildProcess
  readonly #options: WorkerProcessOptions
  readonly #expectations = new Set<Expectation>()
  readonly #ended = Promise.withResolvers<void>()
  readonly #listening = new Map<string, BoundEntryPoint>()
  readonly #started: Promise<WorkerMessage | undefined>
  #configured: Target | undefined
  /** What it has applied. */
  #held: ResourceSet | undefined
  #state: WorkerState = 'starting'
  #exit = ''

  constructor(options: WorkerProcessOptions) {
    this.#options = options
    this.#child = fork(options.program, [], {
      serialization: 'advanced',
      execArgv: [...process.execArgv, ...V8_FLAGS],
      env: options.environment,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#child.on('message', (message) => this.#take(message))
    this.#child.on('error', (error) => this.#fail(reasonOf(error)))
    this.#child.on('exit', (code, signal) => this.#exited(signal ?? `code ${code}`))
    // Its last reports may still be in the channel when it has exited: it has ended when that is read out.
    this.#child.on('disconnect', () => this.#maybeEnded())
    this.#started = this.#expect(({ kind }) => kind === 'started', limits.workerStartTimeoutMs)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get state(): WorkerState {
    return this.#state
  }

  /** How it ended; empty while it runs. */
  get exit(): string {
    return this.#exit
  }

  /** Resolves when the process is gone and its last message was read. */
  whenEnded(): Promise<void> {
    return this.#ended.promise
  }

  async start(): Promise<StepOutcome> {
    if ((await this.#started) === undefined) return this.#lost('start')
    if (this.#state === 'starting') this.#state = 'idle'
    return DONE
  }

  /** Newest first. */
  setTicketKeys(keys: readonly Uint8Array[]): void {
    this.#send({ kind: 'ticketKeys', keys })
  }

  raiseLogs(linesPerSecond: number): void {
    this.#send({ kind: 'logRaise', linesPerSecond })
  }

  async configure(target: Target): Promise<StepOutcome> {
    if (this.#configured === target) return DONE
    const started = await this.start()
    if (started.kind !== 'done') return started
    this.#enter('applying')
    const { version, hash } = target
    const answer = this.#expect(
      (message) => isAnswerTo(message, version),
      limits.workerApplyTimeoutMs,
    )
    const change = target.resources.changeFrom(this.#held)
    this.#send({ kind: 'configure', version, hash, ...change })
    const message = await answer
    if (message?.kind === 'rejected') {
      this.#enter(this.#configured === undefined ? 'idle' : 'ready')
      return { kind: 'rejected', problems: message.problems }
    }
    if (message === undefined) return this.#lost('apply the version')
    this.#configured = target
    this.#held = target.resources
    // Entry points that are not in the version are gone with it; going back must listen on them again.
    this.#unlistenOthers(target)
    return DONE
  }

  /**
   * Listens where the target says and nowhere else. Comes after configure. A new handle for an entry point
   * takes the place of the one before in the worker, so that there is no moment without.
   */
  async listen(target: Target): Promise<StepOutcome> {
    this.#unlistenOthers(target)
    for (const [name, bound] of target.entryPoints) {
      const before = this.#listening.get(name)
      if (before?.socket === bound.socket && before.protocol === bound.protocol) continue
      const answer = this.#expect(
        (message) => message.kind === 'listening' && message.entryPoint === name,
        limits.workerListenTimeoutMs,
      )
      this.#send({ kind: 'listen', entryPoint: name }, bound.socket)
      for (let copy = 1; copy < limits.acceptsPerTurn; copy += 1) {
        this.#send({ kind: 'listenMore', entryPoint: name }, bound.socket)
      }
      if ((await answer) === undefined) return this.#lost(`listen on entry point ${name}`)
      this.#listening.set(name, bound)
    }
    this.#enter('ready')
    return DONE
  }

  #unlistenOthers(target: Target): void {
    for (const name of this.#listening.keys()) {
      if (target.entryPoints.has(name)) continue
      this.#send({ kind: 'unlisten', entryPoint: name })
      this.#listening.delete(name)
    }
  }

  /** Lets it finish its exchanges. Resolves when it has ended, at the latest a little after the grace. */
  async drain(graceMs: number): Promise<void> {
    this.#enter('draining')
    this.#send({ kind: 'drain', graceMs })
    const timer = setTimeout(() => {
      this.#options.logger.warn({ pid: this.pid }, 'a worker did not end in time and is killed')
      this.kill()
    }, graceMs + limits.workerExitTimeoutMs)
    await this.whenEnded()
    clearTimeout(timer)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #enter(state: WorkerState): void {
    if (this.#state !== 'draining' && this.#state !== 'ended') this.#state = state
  }

  #take(content: unknown): void {
    // Our own program of the same version is at the other end, over a channel that nobody else has.
    const message = content as WorkerMessage
    if (message.kind === 'report') {
      this.#options.onReport(this, message)
      return
    }
    if (message.kind === 'notice') {
      const { level, text, fields } = message.notice
      this.#options.logger[level]({ pid: this.pid, ...fields }, text)
      return
    }
    for (const expectation of this.#expectations) {
      if (expectation.fits(message)) expectation.settle(message)
    }
  }

  /** The first message that fits; undefined when the worker ends or the time is up. */
  #expect(fits: Expectation['fits'], timeoutMs: number): Promise<WorkerMessage | undefined> {
    const { promise, resolve } = Promise.withResolvers<WorkerMessage | undefined>()
    if (this.#state === 'ended') return Promise.resolve(undefined)
    const timer = setTimeout(() => expectation.settle(undefined), timeoutMs)
    const expectation: Expectation = {
      fits,
      settle: (message) => {
        clearTimeout(timer)
        this.#expectations.delete(expectation)
        resolve(message)
      },
    }
    this.#expectations.add(expectation)
    return promise
  }

  #lost(step: string): StepOutcome {
    const reason =
      this.#exit === ''
        ? `it did not ${step} in time`
        : `it ended (${this.#exit}) before it could ${step}`
    this.kill()
    return { kind: 'lost', reason }
  }

  #send(message: SupervisorMessage, socket?: ListeningSocket): void {
    if (!this.#child.connected) return
    // A failed send means that the worker is gone, which its end says better.
    const ignore = () => undefined
    if (socket === undefined) this.#child.send(message, ignore)
    else this.#child.send(message, asSendHandle(socket.handle), ignore)
  }

  /** The process could not be started, or its channel failed. */
  #fail(reason: string): void {
    this.#options.logger.error({ pid: this.pid, reason }, 'a worker failed')
    if (this.#child.connected) this.#child.disconnect()
    if (this.#child.pid === undefined) this.#exited('not started')
    else this.kill()
  }

  #exited(how: string): void {
    this.#exit = how
    this.#maybeEnded()
  }

  #maybeEnded(): void {
    if (this.#exit === '' || this.#child.connected || this.#state === 'ended') return
    this.#state = 'ended'
    for (const { settle } of this.#expectations) settle(undefined)
    this.#ended.resolve()
    this.#options.onEnded(this)
  }
}

function isAnswerTo(message: WorkerMessage, version: bigint): boolean {
  const isAnswer = message.kind === 'applied' || message.kind === 'rejected'
  return isAnswer && message.version === version
}
