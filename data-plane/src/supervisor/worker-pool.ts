/**
 * Keeps N workers at the running version: starts them, replaces one that died, rolls, drains. Changes to the
 * workers take turns, so that a replacement never meets a half-applied version. Knows nothing of where
 * versions come from.
 */
import type { Problem } from '@sluice/proto'
import type { Logger } from 'pino'
import { problem } from '../configuration/problems.ts'
import type { WorkerReport } from '../worker-protocol.ts'
import { limits } from './limits.ts'
import { TicketKeyRing } from './ticket-key-ring.ts'
import { type StepOutcome, type Target, WorkerProcess, type WorkerState } from './worker-process.ts'

export interface WorkerPoolOptions {
  readonly program: string
  readonly count: number
  readonly environment: NodeJS.ProcessEnv
  readonly logger: Logger
  readonly onReport: (worker: WorkerProcess, report: WorkerReport) => void
  readonly onEnded: (worker: WorkerProcess) => void
}

export type ApplyOutcome =
  | { readonly kind: 'applied' }
  | { readonly kind: 'rejected'; readonly problems: readonly Problem[] }

interface Slot {
  worker: WorkerProcess | undefined
  /** Workers in a row that died soon after their start. */
  quickDeaths: number
}

export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #slots: Slot[]
  readonly #draining = new Set<WorkerProcess>()
  readonly #ticketKeys = new TicketKeyRing(() => this.#tellTicketKeys())
  #logsRaised = 0
  #target: Target | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #isStopping = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#slots = Array.from({ length: options.count }, () => ({
      worker: undefined,
      quickDeaths: 0,
    }))
  }

  start(): void {
    for (const slot of this.#slots) this.#workerOf(slot)
  }

  /** All workers serve a version. */
  get isReady(): boolean {
    return (
      this.#target !== undefined && this.#slots.every(({ worker }) => worker?.state === 'ready')
    )
  }

  /** Those that are in service, then those that drain. */
  workers(): { pid: number; state: WorkerState }[] {
    const serving = this.#slots.flatMap(({ worker }) => (worker === undefined ? [] : [worker]))
    return [...serving, ...this.#draining].map(({ pid, state }) => ({ pid, state }))
  }

  /** The workers whose reports of a second are waited for. */
  reporting(): WorkerProcess[] {
    return this.#slots.flatMap(({ worker }) => (worker?.state === 'ready' ? [worker] : []))
  }

  /** Takes every worker to the target, or every worker back to where it was. */
  apply(target: Target): Promise<ApplyOutcome> {
    return this.#inTurn(() => this.#apply(target))
  }

  /** Replaces all workers one by one, the new one first. Returns why it stopped early, if it did. */
  async replaceAll(graceMs: number): Promise<string | undefined> {
    for (const slot of this.#slots) {
      const old = slot.worker
      const failure = await this.#inTurn(() => this.#replace(slot))
      if (failure !== undefined) return failure
      if (old !== undefined && old !== slot.worker) await this.#drain(old, graceMs)
    }
    return undefined
  }

  /** Lines to keep in any second, where the version's setting is lower. */
  raiseLogs(linesPerSecond: number): void {
    this.#logsRaised = linesPerSecond
    for (const { worker } of this.#slots) worker?.raiseLogs(linesPerSecond)
  }

  /** Ends all workers; their last reports have been handed on when it returns. */
  async drain(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#ticketKeys.stop()
    const workers = this.#slots.flatMap(({ worker }) => (worker === undefined ? [] : [worker]))
    await Promise.all([
      ...workers.map((worker) => worker.drain(graceMs)),
      ...[...this.#draining].map((worker) => worker.whenEnded()),
    ])
  }

  /** Without grace, for an end at once. */
  kill(): void {
    this.#isStopping = true
    this.#ticketKeys.stop()
    for (const { worker } of this.#slots) worker?.kill()
    for (const worker of this.#draining) worker.kill()
  }

  async #apply(target: Target): Promise<ApplyOutcome> {
    const configured = await this.#everySlot(target, configure)
    const problems = configured.length > 0 ? configured : await this.#everySlot(target, serve)
    if (problems.length === 0) {
      this.#target = target
      return { kind: 'applied' }
    }
    await this.#goBack(target)
    return { kind: 'rejected', problems }
  }

  async #everySlot(target: Target, step: Step): Promise<Problem[]> {
    const outcomes = await Promise.all(this.#slots.map((slot) => this.#take(slot, target, step)))
    return outcomes.flatMap(problemsOf)
  }

  /** A worker that is lost on the way is replaced once: its death may have had another reason. */
  async #take(slot: Slot, target: Target, step: Step): Promise<StepOutcome> {
    const outcome = await step(this.#workerOf(slot), target)
    if (outcome.kind !== 'lost' || this.#isStopping) return outcome
    await slot.worker?.whenEnded()
    return step(this.#workerOf(slot), target)
  }

  /** Workers keep what they had applied; those that had gone further are sent back. */
  async #goBack(refused: Target): Promise<void> {
    const before = this.#target ?? { ...refused, entryPoints: new Map() }
    const isFirst = this.#target === undefined
    await this.#everySlot(before, isFirst ? stopListening : serve)
  }

  async #replace(slot: Slot): Promise<string | undefined> {
    if (this.#isStopping) return 'the node stops'
    const old = slot.worker
    const fresh = this.#fork()
    slot.worker = fresh
    const outcome = await (this.#target === undefined ? fresh.start() : serve(fresh, this.#target))
    if (outcome.kind === 'done') {
      slot.quickDeaths = 0
      return undefined
    }
    slot.worker = old?.state === 'ended' ? undefined : old
    fresh.kill()
    if (slot.worker === undefined) this.#heal(slot)
    return outcome.kind === 'lost' ? outcome.reason : 'the new worker refused the running version'
  }

  async #drain(worker: WorkerProcess, graceMs: number): Promise<void> {
    this.#draining.add(worker)
    await worker.drain(graceMs)
    this.#draining.delete(worker)
  }

  #workerOf(slot: Slot): WorkerProcess {
    slot.worker ??= this.#fork()
    return slot.worker
  }

  #fork(): WorkerProcess {
    const { program, environment, logger, onReport } = this.#options
    const onEnded = (worker: WorkerProcess) => this.#ended(worker)
    const worker = new WorkerProcess({ program, environment, logger, onReport, onEnded })
    worker.setTicketKeys(this.#ticketKeys.keys)
    if (this.#logsRaised > 0) worker.raiseLogs(this.#logsRaised)
    return worker
  }

  #tellTicketKeys(): void {
    for (const { worker } of this.#slots) worker?.setTicketKeys(this.#ticketKeys.keys)
  }

  #ended(worker: WorkerProcess): void {
    this.#options.onEnded(worker)
    const slot = this.#slots.find((candidate) => candidate.worker === worker)
    if (slot === undefined || this.#isStopping) return
    slot.worker = undefined
    const isQuick = performance.now() - worker.startedAtMs < limits.workerQuickDeathMs
    slot.quickDeaths = isQuick ? slot.quickDeaths + 1 : 0
    const { pid, exit } = worker
    this.#options.logger.error({ pid, exit }, 'a worker ended and is replaced')
    this.#heal(slot)
  }

  #heal(slot: Slot): void {
    const delayMs = restartDelayMs(slot.quickDeaths)
    setTimeout(() => void this.#inTurn(() => this.#refill(slot)), delayMs)
  }

  async #refill(slot: Slot): Promise<void> {
    if (this.#isStopping || slot.worker?.state === 'ready') return
    const worker = this.#workerOf(slot)
    const outcome = await (this.#target === undefined
      ? worker.start()
      : serve(worker, this.#target))
    if (outcome.kind !== 'rejected') return
    // It runs elsewhere, so the worker is at fault; its end brings the next attempt.
    const { pid } = worker
    this.#options.logger.error({ pid }, 'a new worker refused the running version and is killed')
    worker.kill()
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => undefined)
    return result
  }
}

type Step = (worker: WorkerProcess, target: Target) => Promise<StepOutcome>

const configure: Step = (worker, target) => worker.configure(target)

const serve: Step = async (worker, target) => {
  const configured = await worker.configure(target)
  return configured.kind === 'done' ? worker.listen(target) : configured
}

const stopListening: Step = (worker, target) => worker.listen(target)

function problemsOf(outcome: StepOutcome): readonly Problem[] {
  switch (outcome.kind) {
    case 'done':
      return []
    case 'rejected':
      return outcome.problems
    case 'lost':
      return [problem(0, '', '', `a worker could not take the version: ${outcome.reason}`)]
  }
}

/** Deaths long after the start are healed at once; those right after it wait longer each time. */
export function restartDelayMs(quickDeaths: number): number {
  if (quickDeaths === 0) return 0
  return Math.min(limits.workerRestartCapMs, limits.workerRestartBaseMs * 2 ** (quickDeaths - 1))
}
