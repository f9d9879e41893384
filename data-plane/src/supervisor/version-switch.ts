/**
 * Takes the node from one version to the next, one at a time: check, bind, workers, disk. Of the versions
 * that arrive meanwhile only the newest waits. Says what became of each to whoever listens.
 */
import { type Problem, ResourceKind } from '@sluice/proto'
import type { Logger } from 'pino'
import { problem } from '../configuration/problems.ts'
import type { EntryPointSockets, SocketPlan } from './entry-point-sockets.ts'
import { limits } from './limits.ts'
import type { ResourceSet } from './resource-set.ts'
import type { CheckResult } from './version-check.ts'
import type { VersionKeeper } from './version-keeper.ts'
import type { StoredVersion } from './version-store.ts'
import type { WorkerPool } from './worker-pool.ts'

export interface Candidate {
  readonly version: bigint
  readonly hash: string
  readonly resources: ResourceSet
  readonly isEmptyOnPurpose: boolean
}

export interface RunningVersion extends StoredVersion {
  readonly source: 'control-plane' | 'disk' | 'file'
  readonly logsPerSecondPerNode: number
}

export type VersionOutcome =
  | {
      readonly kind: 'applied'
      readonly version: bigint
      readonly hash: string
      readonly source: RunningVersion['source']
      readonly tookMs: number
    }
  | {
      readonly kind: 'rejected'
      readonly version: bigint
      readonly hash: string
      readonly source: RunningVersion['source']
      readonly problems: readonly Problem[]
    }

export interface VersionSwitchOptions {
  readonly pool: WorkerPool
  /** Undefined: applied versions are not kept on the disk. */
  readonly keeper: VersionKeeper | undefined
  readonly sockets: EntryPointSockets
  readonly check: (version: ResourceSet) => CheckResult
  readonly logger: Logger
  readonly onOutcome: (outcome: VersionOutcome) => void
}

interface Offer {
  candidate: Candidate
  readonly source: RunningVersion['source']
  readonly appliedAtMs: number | undefined
  /** By the monotonic clock. */
  readonly receivedAtMs: number
  isReported: boolean
  /** What runs when its turn comes, once more: only where it listens is new. */
  readonly isSameVersion: boolean
}

type Attempt =
  /** Not new: it ran already. */
  | { readonly kind: 'applied'; readonly isNew: boolean }
  | {
      readonly kind: 'rejected'
      readonly problems: readonly Problem[]
      readonly isLocal: boolean
    }

export class VersionSwitch {
  readonly #options: VersionSwitchOptions
  #running: RunningVersion | undefined
  #problems: readonly Problem[] = []
  #waiting: Offer | undefined
  /** What the disk offered at the start, for as long as nothing runs. */
  #stored: Offer | undefined
  #isBusy = false
  #working: Promise<void> = Promise.resolve()
  #isStopped = false
  #isDraining = false
  /** Whether what runs was applied without listening. */
  #isSilent = false
  #retryTimer: NodeJS.Timeout | undefined

  constructor(options: VersionSwitchOptions) {
    this.#options = options
  }

  get running(): RunningVersion | undefined {
    return this.#running
  }

  /** Why the last version was refused; empty once one was applied. */
  get problems(): readonly Problem[] {
    return this.#problems
  }

  /** The newest copy from the disk that this software accepts. False: there is none. */
  offerStored(stored: readonly StoredVersion[]): boolean {
    for (const { version, hash, resources, appliedAtMs } of stored) {
      const checked = this.#options.check(resources)
      if (checked.kind === 'sound') {
        const candidate = { version, hash, resources, isEmptyOnPurpose: true }
        this.#stored = { candidate, source: 'disk', appliedAtMs, ...offered() }
        this.#offer(this.#stored)
        return true
      }
      const problems = checked.problems.map(problemText)
      this.#options.logger.error({ version, problems }, 'a stored version is refused')
    }
    return false
  }

  /** Resolves when nothing is being applied and nothing waits. */
  get idle(): Promise<void> {
    return this.#working
  }

  offer(candidate: Candidate): void {
    this.#offer({ candidate, source: 'control-plane', appliedAtMs: undefined, ...offered() })
  }

  /** Content without a number: when its turn comes it gets the one after the running version's. */
  offerContent(resources: ResourceSet): void {
    const hash = resources.hash()
    // It is what an operator wrote, so that it has no routers is no accident.
    const candidate = { version: 0n, hash, resources, isEmptyOnPurpose: true }
    this.#offer({ candidate, source: 'file', appliedAtMs: undefined, ...offered() })
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  /** While it drains, the node runs its versions without listening. */
  setDraining(isDraining: boolean): void {
    if (this.#isDraining === isDraining) return
    this.#isDraining = isDraining
    this.#options.logger.info(isDraining ? 'the node drains' : 'the node takes connections again')
    const running = this.#running
    if (running === undefined || this.#waiting !== undefined) return
    const { version, hash, resources, appliedAtMs, source } = running
    const candidate = { version, hash, resources, isEmptyOnPurpose: true }
    const again = { isSameVersion: true, isReported: true, receivedAtMs: performance.now() }
    this.#offer({ candidate, source, appliedAtMs, ...again })
  }

  /** An update that never became a candidate. */
  refuse(version: bigint, hash: string, refusal: Problem): void {
    this.#problems = [refusal]
    this.#options.logger.error({ version, problems: [problemText(refusal)] }, 'version rejected')
    const source = 'control-plane'
    this.#options.onOutcome({ kind: 'rejected', version, hash, source, problems: [refusal] })
  }

  /** What is being applied is finished; nothing else is begun. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#retryTimer)
    this.#options.keeper?.stop()
    this.#waiting = undefined
  }

  #offer(offer: Offer): void {
    if (this.#isStopped) return
    clearTimeout(this.#retryTimer)
    this.#waiting = offer
    if (!this.#isBusy) this.#working = this.#work()
  }

  async #work(): Promise<void> {
    this.#isBusy = true
    for (let offer = this.#waiting; offer !== undefined; offer = this.#waiting) {
      this.#waiting = undefined
      await this.#take(offer)
    }
    this.#isBusy = false
  }

  async #take(offer: Offer): Promise<void> {
    if (offer.isSameVersion && this.#running !== undefined) {
      offer.candidate = { ...this.#running, isEmptyOnPurpose: true }
    } else if (offer.source === 'file') offer.candidate = this.#numbered(offer.candidate)
    const attempt = await this.#attempt(offer)
    if (attempt.kind === 'applied') return this.#reportApplied(offer, attempt.isNew)
    this.#problems = attempt.problems
    this.#reportRejected(offer, attempt.problems)
    // With nothing to fall back on it is tried again: a port may become free.
    const again = attempt.isLocal ? offer : this.#stored
    if (this.#waiting !== undefined || this.#isStopped || again === undefined) return
    if (this.#running !== undefined && !offer.isSameVersion) return
    this.#retryTimer = setTimeout(() => this.#offer(again), limits.applyRetryMs)
  }

  #numbered(candidate: Candidate): Candidate {
    const running = this.#running
    if (running === undefined) return { ...candidate, version: 1n }
    const isChange = running.hash !== candidate.hash
    return { ...candidate, version: isChange ? running.version + 1n : running.version }
  }

  async #attempt(offer: Offer): Promise<Attempt> {
    const { candidate } = offer
    const isAsWanted = this.#isSilent === this.#isDraining
    if (isSame(this.#running, candidate) && isAsWanted) {
      this.#problems = []
      return { kind: 'applied', isNew: false }
    }
    if (this.#running?.hash === candidate.hash && isAsWanted) {
      // What was published does not concern this node: only the number is new.
      await this.#run(offer, this.#running.logsPerSecondPerNode)
      return { kind: 'applied', isNew: true }
    }
    const refusal = this.#refusal(candidate)
    if (refusal !== undefined) return { kind: 'rejected', problems: [refusal], isLocal: false }
    const { resources } = candidate
    const checked = this.#options.check(resources)
    if (checked.kind === 'refused') {
      return { kind: 'rejected', problems: checked.problems, isLocal: false }
    }
    const isSilent = this.#isDraining
    const wanted = isSilent ? [] : checked.entryPoints
    const planned = await this.#options.sockets.plan(wanted)
    if (planned.kind === 'failed') {
      return { kind: 'rejected', problems: planned.problems, isLocal: true }
    }
    const { entryPoints } = planned.plan
    const { version, hash } = candidate
    const outcome = await this.#options.pool.apply({ version, hash, resources, entryPoints })
    if (outcome.kind === 'rejected') {
      this.#options.sockets.abandon(planned.plan)
      return { kind: 'rejected', problems: outcome.problems, isLocal: true }
    }
    this.#isSilent = isSilent
    await this.#commit(offer, planned.plan, checked.logsPerSecondPerNode)
    return { kind: 'applied', isNew: true }
  }

  async #commit(offer: Offer, plan: SocketPlan, logsPerSecondPerNode: number): Promise<void> {
    const { sockets, logger } = this.#options
    sockets.commit(plan)
    for (const socket of plan.opened) {
      const name = [...plan.entryPoints].find(([, bound]) => bound.socket === socket)?.[0]
      logger.info({ entryPoint: name, address: socket.address }, 'listening')
    }
    await this.#run(offer, logsPerSecondPerNode)
  }

  async #run(offer: Offer, logsPerSecondPerNode: number): Promise<void> {
    const { version, hash, resources } = offer.candidate
    const appliedAtMs = offer.appliedAtMs ?? Date.now()
    const { source } = offer
    this.#running = { version, hash, resources, appliedAtMs, source, logsPerSecondPerNode }
    this.#problems = []
    this.#stored = undefined
    await this.#options.keeper?.keep(this.#running)
  }

  /** A control plane that has lost its data must not switch off a node that serves. */
  #refusal({ resources, isEmptyOnPurpose }: Candidate): Problem | undefined {
    if (isEmptyOnPurpose || resources.hasRouters()) return undefined
    if (this.#running?.resources.hasRouters() !== true) return undefined
    const reason = 'the version has no routers and is not marked as empty on purpose'
    return problem(ResourceKind.UNSPECIFIED, '', '', reason)
  }

  #reportApplied(offer: Offer, isNew: boolean): void {
    const { candidate, source, receivedAtMs } = offer
    const { version, hash } = candidate
    const tookMs = Math.round(performance.now() - receivedAtMs)
    const text = isNew ? 'version applied' : 'the version runs already'
    if (offer.isSameVersion) return
    this.#options.logger.info({ version, tookMs, source }, text)
    this.#options.onOutcome({ kind: 'applied', version, hash, source, tookMs })
  }

  /** Once, however often it is tried again. */
  #reportRejected(offer: Offer, problems: readonly Problem[]): void {
    if (offer.isReported) return
    offer.isReported = true
    const { version, hash } = offer.candidate
    const { source } = offer
    const { logger, onOutcome } = this.#options
    logger.error({ version, problems: problems.map(problemText) }, 'version rejected')
    onOutcome({ kind: 'rejected', version, hash, source, problems })
  }
}

function isSame(running: RunningVersion | undefined, { version, hash }: Candidate): boolean {
  return running?.version === version && running.hash === hash
}

function offered(): Pick<Offer, 'receivedAtMs' | 'isReported' | 'isSameVersion'> {
  return { receivedAtMs: performance.now(), isReported: false, isSameVersion: false }
}

const KIND_WORDS: Readonly<Record<number, string>> = {
  [ResourceKind.ENTRY_POINT]: 'entry point',
  [ResourceKind.ROUTER]: 'router',
  [ResourceKind.SERVICE]: 'service',
  [ResourceKind.CERTIFICATE]: 'certificate',
  [ResourceKind.SETTINGS]: 'settings',
}

/** One line: object, field, reason. */
export function problemText({ object, field, reason }: Problem): string {
  const kind = object === undefined ? undefined : KIND_WORDS[object.kind]
  const where = [kind, object?.name, field].filter((part) => part !== undefined && part !== '')
  return where.length === 0 ? reason : `${where.join(' ')}: ${reason}`
}
