/**
 * A session from its first run to its last: all rounds of all scenarios, each run recorded as soon as it is over.
 * A proxy that cannot be started or loaded is a failure of that proxy and not of the session.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ArtifactFolder } from '../artifacts/artifact-folder.ts'
import {
  type Plan,
  type RunRecord,
  SCHEMA,
  type ScenarioPlan,
  type SessionOutcome,
  type StageFailure,
} from '../artifacts/records.ts'
import { noiseOf } from '../honesty/machine.ts'
import type { Found, Peer } from '../peers/peer.ts'
import type { SuiteOptions } from '../suites/suite.ts'
import { isSettled } from '../summary/bootstrap.ts'
import { secondsOf, turnSeconds } from './budget.ts'
import { type MeasuredRun, measureRun, type RunRequest, type RunSetting } from './measured-run.ts'
import { pairedTurns, type Turn, turnsOf } from './order.ts'
import type { Progress } from './progress.ts'

const SETTLED_SHARE = 0.03
const SETTLED_ROUNDS_MIN = 5
/** After so many failures of a proxy in a scenario it is left out of the rest of it. */
const FAILURES_MAX = 2
const QUIET_WAIT_MS = 10_000
/** Of the budget: a machine that is never quiet must not use it up by waiting. */
const QUIET_WAIT_SHARE = 0.1

export interface Contestant {
  readonly name: string
  readonly peer: Peer
  readonly found: Extract<Found, { kind: 'found' }>
}

export interface SessionParts {
  readonly folder: ArtifactFolder
  readonly contestants: readonly Contestant[]
  readonly setting: RunSetting
  readonly progress: Progress
  readonly options: SuiteOptions
  /** Of a run that is disturbed, the first included. */
  readonly attemptsMax: number
  /** Told of every plan that got a rate which was not known before. */
  readonly onPlan: (plan: Plan) => Promise<void>
}

export class Session {
  readonly #parts: SessionParts
  readonly #failures: StageFailure[] = []
  readonly #deadline: number
  #plan: Plan
  #isBudgetSpent = false
  #waitLeftMs: number

  constructor(plan: Plan, parts: SessionParts) {
    this.#plan = plan
    this.#parts = parts
    this.#deadline = performance.now() + plan.budgetSeconds * 1_000
    this.#waitLeftMs = QUIET_WAIT_SHARE * plan.budgetSeconds * 1_000
  }

  get plan(): Plan {
    return this.#plan
  }

  async run(): Promise<SessionOutcome> {
    for (const { key } of this.#plan.scenarios) {
      const scenario = await this.#settled(key)
      for (let round = 0; round < this.#plan.rounds && !this.#isOver(); round += 1) {
        await this.#round(scenario, round)
        if (round + 1 >= SETTLED_ROUNDS_MIN && this.#saysNothingNew(scenario)) break
      }
    }
    return this.outcome(this.#end())
  }

  outcome(end: SessionOutcome['end']): SessionOutcome {
    return { schema: SCHEMA, end, finishedAtMs: Date.now(), failures: this.#failures }
  }

  #end(): SessionOutcome['end'] {
    if (this.#parts.setting.signal.aborted) return 'interrupted'
    return this.#isBudgetSpent ? 'budget' : 'complete'
  }

  #isOver(): boolean {
    if (performance.now() > this.#deadline) this.#isBudgetSpent = true
    return this.#isBudgetSpent || this.#parts.setting.signal.aborted
  }

  /** The scenario with the rates that follow from what was measured so far. */
  async #settled(key: string): Promise<ScenarioPlan> {
    const { suite } = this.#parts.setting
    const plan = this.#plan.scenarios.find((one) => one.key === key)
    if (plan === undefined) throw new Error(`the plan has no scenario ${key}`)
    const settled = suite.settle(plan, this.#capacities(), this.#parts.options)
    if (settled === plan) return plan
    const scenarios = this.#plan.scenarios.map((one) => (one.key === key ? settled : one))
    this.#plan = { ...this.#plan, scenarios }
    await this.#parts.onPlan(this.#plan)
    return settled
  }

  #capacities(): Map<string, number> {
    const capacities = new Map<string, number>()
    for (const run of this.#parts.folder.runs) {
      const isCapacity = run.scenario === 'http1k' || run.scenario === 'capacity'
      if (!isCapacity || run.role !== 'measured' || run.ok === 0) continue
      capacities.set(run.proxy, Math.max(capacities.get(run.proxy) ?? 0, run.rps))
    }
    return capacities
  }

  async #round(scenario: ScenarioPlan, round: number): Promise<void> {
    const isDirect =
      scenario.hasDirect && (round === 0 || this.#parts.setting.suite.isDirectInEachRound)
    const turns: Turn[] = isDirect ? [{ proxy: 'direct', role: 'direct' }] : []
    turns.push(...this.#turns(round))
    for (const [pos, turn] of turns.entries()) {
      if (this.#isOver()) return
      await this.#turn(scenario, turn, { round, pos })
      await delay(this.#parts.setting.suite.cooldownMs)
    }
  }

  #turns(round: number): Turn[] {
    const names = this.#parts.contestants.map(({ name }) => name)
    const [left, right] = names
    if (this.#plan.suite === 'ab' && left !== undefined && right !== undefined) {
      return pairedTurns([left, right], round)
    }
    return turnsOf(names, this.#plan.reference, round)
  }

  /** Once, and again while it was disturbed; every attempt is kept. */
  async #turn(
    scenario: ScenarioPlan,
    turn: Turn,
    { round, pos }: { round: number; pos: number },
  ): Promise<void> {
    const failed = this.#failures.filter(
      (failure) => failure.proxy === turn.proxy && failure.scenario === scenario.key,
    )
    if (failed.length >= FAILURES_MAX) return
    const contestant = this.#parts.contestants.find(({ name }) => name === turn.proxy)
    for (let attempt = 0; attempt < this.#parts.attemptsMax && !this.#isOver(); attempt += 1) {
      this.#report(scenario, turn, round, attempt)
      const request: RunRequest = {
        ...(contestant === undefined ? {} : { peer: contestant.peer }),
        ...{ scenario, turn, round, pos, attempt },
        version: contestant?.found.version ?? '',
        directRps: this.#directRps(scenario.key),
        quietWaitMs: Math.max(0, Math.min(QUIET_WAIT_MS, this.#waitLeftMs)),
      }
      const measured = await this.#attempt(request)
      if (measured === undefined) return
      const reasons = noiseOf(measured.record)
      await this.#keep(measured, reasons)
      if (reasons.length === 0 || !this.#hasTimeFor(scenario)) return
    }
  }

  async #attempt(request: RunRequest): Promise<MeasuredRun | undefined> {
    const { scenario, turn, round } = request
    try {
      const measured = await measureRun(request, this.#parts.setting)
      this.#waitLeftMs -= measured.waitedMs
      return measured
    } catch (error) {
      // A run that was interrupted while it started is no failure of its proxy.
      if (this.#parts.setting.signal.aborted) return undefined
      const message = error instanceof Error ? error.message : String(error)
      const stage = /ready|ended at its start|is taken|no process/.test(message) ? 'start' : 'load'
      this.#failures.push({
        proxy: turn.proxy,
        scenario: scenario.key,
        round,
        stage,
        error: message,
      })
      this.#parts.progress.say(`${turn.proxy} failed in ${scenario.key}: ${message}`)
      await this.#parts.folder.writeOutcome(this.outcome('running'))
      return undefined
    }
  }

  async #keep({ record, rows, raw }: MeasuredRun, reasons: readonly string[]): Promise<void> {
    const { folder } = this.#parts
    const { proxy, scenario, round, role, attempt } = record
    const isCut = this.#parts.setting.signal.aborted
    const flags = [...(reasons.length === 0 ? [] : ['noisy']), ...(isCut ? ['interrupted'] : [])]
    // What was cut off is no measurement, and is kept where nobody counts it.
    const name = `${proxy}.${scenario}.${round}.${role}.${attempt}`
    const suffix = record.tool === 'wrk' ? 'txt' : 'json'
    await folder.writeRaw(`${name}${isCut ? '.interrupted' : ''}.${suffix}`, raw)
    if (isCut) return
    await folder.addRun({ ...record, flags })
    if (rows.length > 0) await folder.writeSeries({ proxy, scenario, round, role, rows })
    await folder.writeOutcome(this.outcome('running'))
  }

  #directRps(scenario: string): number | null {
    const runs = this.#parts.folder.runs.filter(
      (run) => run.role === 'direct' && run.scenario === scenario,
    )
    return runs.at(-1)?.rps ?? null
  }

  #hasTimeFor(scenario: ScenarioPlan): boolean {
    const left = (this.#deadline - performance.now()) / 1_000
    return left > this.#secondsAhead(scenario) + turnSeconds(scenario, this.#parts.setting.suite)
  }

  /** Of the rounds that are still to come, this one left out. */
  #secondsAhead(scenario: ScenarioPlan): number {
    const done = new Set(
      this.#parts.folder.runs
        .filter(({ scenario: key }) => key === scenario.key)
        .map(({ round }) => round),
    )
    const index = this.#plan.scenarios.findIndex(({ key }) => key === scenario.key)
    const size = {
      proxies: this.#parts.contestants.length,
      hasAgain: true,
      rounds: this.#plan.rounds,
    }
    const { suite } = this.#parts.setting
    const later = secondsOf(this.#plan.scenarios.slice(index + 1), suite, size)
    const rounds = Math.max(0, this.#plan.rounds - Math.max(1, done.size))
    return later + secondsOf([scenario], suite, { ...size, rounds })
  }

  /** Enough rounds, and each proxy's ratio is known to 3 %. */
  #saysNothingNew({ key }: ScenarioPlan): boolean {
    const runs = this.#parts.folder.runs.filter((run) => run.scenario === key)
    const value = (run: RunRecord) => run.rps
    return this.#parts.contestants.every(({ name }) => {
      const ratios = runs
        .filter((run) => run.proxy === name && run.role === 'measured')
        .flatMap((run) => {
          const base = runs.find(
            (other) =>
              other.proxy === this.#plan.reference &&
              other.round === run.round &&
              other.role === 'measured',
          )
          return base === undefined || base.rps === 0 ? [] : [value(run) / value(base)]
        })
      return ratios.length >= SETTLED_ROUNDS_MIN && isSettled(ratios, SETTLED_SHARE)
    })
  }

  #report(scenario: ScenarioPlan, { proxy }: Turn, round: number, attempt: number): void {
    const ahead = this.#secondsAhead(scenario)
    const left = (this.#deadline - performance.now()) / 1_000
    this.#parts.progress.step({
      scenario: scenario.key,
      proxy,
      round,
      rounds: this.#plan.rounds,
      secondsLeft: Math.min(left, ahead + turnSeconds(scenario, this.#parts.setting.suite)),
      ...(attempt === 0
        ? {}
        : { note: `again because of noise (${attempt + 1} of ${this.#parts.attemptsMax})` }),
    })
  }
}
