/** Waits, bounded, until the CPUs are idle enough for a measurement to mean something. */
import { setTimeout as delay } from 'node:timers/promises'
import {
  readSystemCounters,
  type SystemCounters,
  systemChange,
  timeWaitSockets,
} from './system-counters.ts'

export interface QuietGateSettings {
  /** As taskset takes them; each by itself must be idle enough. */
  readonly processors: readonly string[]
  readonly idleShareMin: number
  /** For so long without a break. */
  readonly quietMs: number
  readonly timeWaitMax: number
  readonly waitMsMax: number
}

export const QUIET_GATE = Object.freeze({
  idleShareMin: 0.93,
  quietMs: 1_500,
  timeWaitMax: 5_000,
  waitMsMax: 30_000,
})

export interface QuietGateOutcome {
  readonly isQuiet: boolean
  readonly waitedMs: number
  /** Of the busiest CPU in the last look. */
  readonly idleShare: number
  readonly timeWait: number
}

export async function waitForQuiet(settings: QuietGateSettings): Promise<QuietGateOutcome> {
  const from = performance.now()
  for (;;) {
    const before = readSystemCounters()
    await delay(settings.quietMs)
    const idleShare = leastIdle(settings.processors, before, readSystemCounters())
    const timeWait = timeWaitSockets()
    const waitedMs = performance.now() - from
    const isQuiet = idleShare >= settings.idleShareMin && timeWait < settings.timeWaitMax
    if (isQuiet || waitedMs >= settings.waitMsMax) return { isQuiet, waitedMs, idleShare, timeWait }
  }
}

function leastIdle(
  processors: readonly string[],
  before: SystemCounters,
  after: SystemCounters,
): number {
  const shares = processors.map(
    (list) => systemChange(before, after, { processors: list, ownNs: 0 }).idleShare,
  )
  return Math.min(...shares)
}
