/**
 * The samplers of two workers and the merge of the supervisor, held to statistics. SLUICE_LONG_STATISTICS=1 takes
 * ten minutes of traffic at 2,000/s for each run instead of half a minute.
 */
import { LogLine } from '@sluice/proto'
import { expect, it } from 'vitest'
import { mergeSecond } from './supervisor/log-merge.ts'
import { Random } from './testing/random.ts'
import { LogSampler } from './worker/observe/log-sampler.ts'

const SECONDS = process.env.SLUICE_LONG_STATISTICS === '1' ? 600 : 30
const PER_SECOND = 2_000
const LINES_PER_SECOND = 10
const RUNS = 20
/** Shares of the traffic, and how many of a thousand exchanges fail. */
const ROUTERS = [
  { router: 'large', share: 0.6, failures: 1 },
  { router: 'medium', share: 0.3, failures: 20 },
  { router: 'small', share: 0.09, failures: 0 },
  { router: 'failing', share: 0.01, failures: 500 },
]
const EMPTY = LogLine.decode(new Uint8Array())

interface Figures {
  readonly counted: number[]
  readonly estimated: number[]
  /** Of the estimates. */
  readonly variances: number[]
}

/** One run; what is kept and not kept is checked in each second. */
function run(seed: number): Figures {
  const random = new Random(seed)
  const samplers = [
    new LogSampler(() => random.fraction()),
    new LogSampler(() => random.fraction()),
  ]
  for (const sampler of samplers) sampler.capacity = LINES_PER_SECOND
  const zeros = () => ROUTERS.map(() => 0)
  const figures = { counted: zeros(), estimated: zeros(), variances: zeros() }
  for (let second = 1; second <= SECONDS; second += 1) {
    const classes = { ordinary: zeros(), notable: zeros() }
    for (let exchange = 0; exchange < PER_SECOND; exchange += 1) {
      const at = pickRouter(random.fraction())
      const isNotable = random.fraction() * 1_000 < (ROUTERS[at]?.failures ?? 0)
      const counts = isNotable ? classes.notable : classes.ordinary
      counts[at] = (counts[at] ?? 0) + 1
      const timeMs = second * 1_000 + (exchange * 1_000) / PER_SECOND
      // Connections are not spread evenly over workers.
      const sampler = samplers[random.fraction() < 0.8 ? 0 : 1]
      if (sampler?.chooses(timeMs, isNotable) === true) {
        sampler.put({ ...EMPTY, router: ROUTERS[at]?.router ?? '' })
      }
    }
    const samples = samplers.flatMap((sampler) => sampler.takeAll())
    const { lines, notKept } = mergeSecond(samples, LINES_PER_SECOND, () => random.fraction())
    expect(lines.length + notKept).toBe(PER_SECOND)
    const keptNotable = keptOf(lines, sum(classes.notable))
    addSecond(figures, classes, lines, keptNotable)
  }
  return figures
}

/** Lines of failures, of which there were `seen`: they have a reserved share while there are enough others. */
function keptOf(lines: readonly LogLine[], seen: number): number {
  const reserved = Math.round(LINES_PER_SECOND * 0.3)
  return Math.min(seen, reserved, lines.length)
}

function addSecond(
  { counted, estimated, variances }: Figures,
  classes: Readonly<Record<'ordinary' | 'notable', readonly number[]>>,
  lines: readonly LogLine[],
  keptNotable: number,
): void {
  const kept = { notable: keptNotable, ordinary: lines.length - keptNotable }
  ROUTERS.forEach(({ router }, at) => {
    for (const name of ['ordinary', 'notable'] as const) {
      const count = classes[name][at] ?? 0
      counted[at] = (counted[at] ?? 0) + count
      variances[at] = (variances[at] ?? 0) + varianceOf(count, sum(classes[name]), kept[name])
    }
    const weights = lines.map((line) => (line.router === router ? line.weight : 0))
    estimated[at] = (estimated[at] ?? 0) + sum(weights)
  })
}

/** Of N / n times the hits in a draw of n from N without putting back, of which `hits` are hits. */
function varianceOf(hits: number, seen: number, kept: number): number {
  if (kept === 0 || seen <= kept) return 0
  const share = hits / seen
  return ((seen * seen) / kept) * share * (1 - share) * ((seen - kept) / (seen - 1))
}

function pickRouter(at: number): number {
  let rest = at
  return ROUTERS.findIndex(({ share }, index) => {
    rest -= share
    return rest < 0 || index === ROUTERS.length - 1
  })
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

const runs = Array.from({ length: RUNS }, (_, seed) => run(seed + 1))

it.each(ROUTERS.map(({ router }, at) => [router, at] as const))(
  'weighted lines estimate the requests of the router %s, without bias',
  (_router, at) => {
    const errors = runs.map(({ counted, estimated, variances }) => {
      const error = (estimated[at] ?? 0) - (counted[at] ?? 0)
      return error / Math.sqrt(variances[at] ?? 1)
    })
    // In standard errors: each run within three of them, and the mean of the runs within three of its own.
    expect(Math.abs(errors[0] ?? Number.NaN)).toBeLessThan(3)
    expect(errors.filter((error) => Math.abs(error) >= 3).length).toBeLessThanOrEqual(1)
    expect(Math.abs(sum(errors) / RUNS)).toBeLessThan(3 / Math.sqrt(RUNS))
    // The standard error is the true one: the squares of the errors have about the mean 1.
    const spread = sum(errors.map((error) => error * error)) / RUNS
    expect(spread).toBeGreaterThan(0.3)
    expect(spread).toBeLessThan(2.2)
  },
)
