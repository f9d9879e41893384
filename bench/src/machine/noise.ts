/**
 * How disturbed this machine is: a fixed piece of work timed, and a loop that looks at the clock and notes when
 * it was not let run. Both stop the event loop of the process, so they run before and after a measurement.
 */

/** Fits the registers, so that memory and cache play no part. Some 50 ms on the machines of 2026. */
const CALIBRATION_STEPS = 25_000_000
const GAP_MS = 0.05

export interface HiccupFigures {
  readonly seconds: number
  /** Gaps of the clock above 50 µs. */
  readonly gaps: number
  readonly gapsPerSecond: number
  /** Of the time. */
  readonly share: number
  readonly p99Us: number
  readonly maxUs: number
}

export interface Calibration {
  readonly ms: number
  /** Of the work itself, so that it cannot be optimised away, and equal in every run. */
  readonly checksum: number
}

export function calibrate(): Calibration {
  const from = performance.now()
  let state = 88_172_645
  for (let step = 0; step < CALIBRATION_STEPS; step += 1) {
    // Xorshift by Marsaglia, 2003: 13, 17, 5.
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
  }
  return { ms: performance.now() - from, checksum: state >>> 0 }
}

/** The best of some: what the machine does when it is let. */
export function calibrateBest(times: number): Calibration {
  let best = calibrate()
  for (let done = 1; done < times; done += 1) {
    const next = calibrate()
    if (next.ms < best.ms) best = next
  }
  return best
}

export function measureHiccups(milliseconds: number): HiccupFigures {
  const gapsMs: number[] = []
  const from = performance.now()
  const until = from + milliseconds
  let before = from
  while (before < until) {
    const now = performance.now()
    if (now - before > GAP_MS) gapsMs.push(now - before)
    before = now
  }
  const seconds = (before - from) / 1000
  gapsMs.sort((left, right) => left - right)
  const lost = gapsMs.reduce((sum, gap) => sum + gap, 0)
  return {
    seconds,
    gaps: gapsMs.length,
    gapsPerSecond: gapsMs.length / seconds,
    share: lost / 1000 / seconds,
    p99Us: (gapsMs[Math.ceil(gapsMs.length * 0.99) - 1] ?? 0) * 1000,
    maxUs: (gapsMs.at(-1) ?? 0) * 1000,
  }
}
