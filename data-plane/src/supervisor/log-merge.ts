/**
 * Merges the workers' samples of one second into the node's lines of that second. Each worker sends a uniform
 * sample of its own exchanges and how many it saw; drawing the node's lines worker by worker in proportion to
 * what is left of what they saw gives a uniform sample of all (the multivariate hypergeometric distribution).
 */
import type { LogLine } from '@sluice/proto'
import type { ClassSample, LogSample } from '../worker-protocol.ts'
import { limits } from './limits.ts'

/** The lines of one second, weighted. kept + not kept = exchanges seen. */
export interface MergedSecond {
  readonly lines: LogLine[]
  readonly notKept: number
}

/** At least this share of the lines is for failures and slow exchanges, if there are that many. */
const NOTABLE_SHARE = 0.3

export function mergeSecond(
  samples: readonly Pick<LogSample, 'ordinary' | 'notable'>[],
  linesMax: number,
  random: () => number = Math.random,
): MergedSecond {
  const ordinary = samples.map((sample) => sample.ordinary)
  const notable = samples.map((sample) => sample.notable)
  const shares = shareOut(sumSeen(ordinary), sumSeen(notable), linesMax)
  const lines =
    shares === 'pooled'
      ? draw([...ordinary, ...notable], linesMax, random)
      : [...draw(ordinary, shares.ordinary, random), ...draw(notable, shares.notable, random)]
  lines.sort((one, other) => Number(one.timeMs - other.timeMs))
  return { lines, notKept: sumSeen(ordinary) + sumSeen(notable) - lines.length }
}

/** With a single line for two classes neither can stand for the other, so they are drawn from as one. */
function shareOut(
  ordinarySeen: number,
  notableSeen: number,
  linesMax: number,
): { readonly ordinary: number; readonly notable: number } | 'pooled' {
  if (linesMax === 1 && ordinarySeen > 0 && notableSeen > 0) return 'pooled'
  const reserved = linesMax === 0 ? 0 : Math.max(1, Math.round(linesMax * NOTABLE_SHARE))
  const notable = Math.min(notableSeen, Math.max(reserved, linesMax - ordinarySeen))
  return { notable, ordinary: Math.min(ordinarySeen, linesMax - notable) }
}

interface Source {
  left: number
  readonly lines: LogLine[]
}

function draw(samples: readonly ClassSample[], count: number, random: () => number): LogLine[] {
  const seen = sumSeen(samples)
  const sources = samples.map(({ seen: left, lines }): Source => ({ left, lines: [...lines] }))
  const wanted = Math.min(count, seen, ...sources.map(linesSure))
  const drawn: LogLine[] = []
  for (let left = seen; drawn.length < wanted; left -= 1) {
    const source = pick(sources, random() * left)
    const line = takeAny(source, random)
    if (line === undefined) break
    drawn.push(line)
  }
  return drawn.map((line) => ({ ...line, weight: seen / drawn.length }))
}

/** How many lines can be drawn without this source running dry: all draws might fall on it. */
function linesSure({ left, lines }: Source): number {
  return lines.length < left ? lines.length : Number.POSITIVE_INFINITY
}

function pick(sources: readonly Source[], at: number): Source | undefined {
  let rest = at
  for (const source of sources) {
    if (rest < source.left) return source
    rest -= source.left
  }
  // Rounding may step past the end.
  return sources.findLast(({ left }) => left > 0)
}

function takeAny(source: Source | undefined, random: () => number): LogLine | undefined {
  if (source === undefined) return undefined
  source.left -= 1
  return source.lines.splice(Math.floor(random() * source.lines.length), 1)[0]
}

function sumSeen(samples: readonly ClassSample[]): number {
  return samples.reduce((sum, { seen }) => sum + seen, 0)
}

interface OpenSecond {
  readonly samples: LogSample[]
  readonly reporters: Set<object>
  isComplete: boolean
}

/** Collects the samples of seconds that are not over, and closes them in order. */
export class LogMerge {
  readonly #open = new Map<number, OpenSecond>()
  readonly #random: () => number
  #closedUntilMs = 0
  #lateNotKept = 0

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  add(reporter: object, sample: LogSample): void {
    const { secondMs, ordinary, notable } = sample
    // So far back only a clock comes that was set: what it says now are seconds of their own.
    const backMs = this.#closedUntilMs - secondMs
    if (backMs > limits.logSecondsOpenMax * 1_000) this.#closedUntilMs = 0
    if (!this.#open.has(secondMs) && !this.#isOpenable(secondMs)) {
      // Its second has had its lines.
      this.#lateNotKept += ordinary.seen + notable.seen
      return
    }
    const second = this.#open.get(secondMs) ?? newSecond()
    this.#open.set(secondMs, second)
    second.samples.push(sample)
    second.reporters.add(reporter)
  }

  /** Once a second: the seconds that all workers reported a tick ago, or that have been open too long. */
  tick(nowMs: number, expected: readonly object[], linesMax: number): MergedSecond[] {
    const closed: MergedSecond[] = []
    for (const [secondMs, second] of this.#oldestFirst()) {
      // A second far ahead is of a clock that was set back since, and nobody else will report it.
      const ageMs = Math.abs(nowMs - (secondMs + 1_000))
      if (!second.isComplete && ageMs < limits.logSecondOpenMaxMs) {
        second.isComplete = expected.every((worker) => second.reporters.has(worker))
        continue
      }
      closed.push(this.#close(secondMs, second, linesMax))
    }
    if (this.#lateNotKept > 0) closed.push({ lines: [], notKept: this.#takeLate() })
    return closed
  }

  /** All that is open, at the end. */
  finish(linesMax: number): MergedSecond[] {
    const closed = this.#oldestFirst().map(([at, second]) => this.#close(at, second, linesMax))
    return [...closed, { lines: [], notKept: this.#takeLate() }]
  }

  #isOpenable(secondMs: number): boolean {
    return secondMs > this.#closedUntilMs && this.#open.size < limits.logSecondsOpenMax
  }

  #oldestFirst(): [number, OpenSecond][] {
    return [...this.#open].sort(([one], [other]) => one - other)
  }

  #close(secondMs: number, { samples }: OpenSecond, linesMax: number): MergedSecond {
    this.#open.delete(secondMs)
    this.#closedUntilMs = Math.max(this.#closedUntilMs, secondMs)
    return mergeSecond(samples, linesMax, this.#random)
  }

  #takeLate(): number {
    const late = this.#lateNotKept
    this.#lateNotKept = 0
    return late
  }
}

function newSecond(): OpenSecond {
  return { samples: [], reporters: new Set(), isComplete: false }
}
