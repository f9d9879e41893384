/** Sends the supervisor what was counted and sampled, at each whole second of the wall clock and at the end. */
import { TrafficPacker } from '../../packed-traffic.ts'
import type {
  DrainCount,
  LogSample,
  UnhealthyServer,
  WorkerMessage,
} from '../../worker-protocol.ts'
import type { Gauges } from './gauges.ts'
import type { LogSampler } from './log-sampler.ts'
import type { TrafficCounters } from './traffic-counters.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** After the second's end, so that a timer that fires early does not report it short. */
const SLACK_MS = 5

/** What a report says of the present. */
interface States {
  readonly draining: () => readonly DrainCount[]
  readonly unhealthy: () => readonly UnhealthyServer[]
}

export class Reporter {
  readonly #counters: TrafficCounters
  readonly #sampler: LogSampler
  readonly #gauges: Gauges
  readonly #states: States
  readonly #send: (message: WorkerMessage) => void
  #timer: NodeJS.Timeout | undefined
  /** When the counts of the next report began; they belong to its minute. */
  #sinceMs = wallClockMs()

  constructor(
    counters: TrafficCounters,
    sampler: LogSampler,
    gauges: Gauges,
    states: States,
    send: (message: WorkerMessage) => void,
  ) {
    this.#counters = counters
    this.#sampler = sampler
    this.#gauges = gauges
    this.#states = states
    this.#send = send
  }

  start(): void {
    const untilNext = SECOND_MS - (wallClockMs() % SECOND_MS) + SLACK_MS
    this.#timer = setTimeout(() => {
      this.#report(this.#sampler.take(wallClockMs()))
      this.start()
    }, untilNext)
    this.#timer.unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#report(this.#sampler.takeAll())
  }

  #report(samples: readonly LogSample[]): void {
    const minuteMs = Math.floor(this.#sinceMs / MINUTE_MS) * MINUTE_MS
    this.#sinceMs = wallClockMs()
    let traffic = this.#counters.take(minuteMs)
    for (const logs of samples) {
      this.#send({ kind: 'report', traffic, logs, ...this.#counts() })
      traffic = new TrafficPacker(minuteMs, 0).finish()
    }
    if (traffic.names === '') return
    const nothing = { seen: 0, lines: [] }
    const logs = { secondMs: this.#sinceMs, ordinary: nothing, notable: nothing }
    this.#send({ kind: 'report', traffic, logs, ...this.#counts() })
  }

  #counts() {
    const { draining, unhealthy } = this.#states
    return { gauges: this.#gauges.snapshot(), draining: draining(), unhealthy: unhealthy() }
  }
}

/** The clock that exchanges are dated with: monotonic within a process. */
function wallClockMs(): number {
  return performance.timeOrigin + performance.now()
}
