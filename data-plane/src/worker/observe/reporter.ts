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
import type { WallClock } from './wall-clock.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** After the second's end, so that a timer that fires early does not report it short. */
const SLACK_MS = 5

/** What a report says of the present. */
interface States {
  readonly draining: () => readonly DrainCount[]
  readonly unhealthy: () => readonly UnhealthyServer[]
}

export interface ReporterOptions {
  readonly counters: TrafficCounters
  readonly sampler: LogSampler
  readonly gauges: Gauges
  readonly states: States
  readonly wallClock: WallClock
  readonly send: (message: WorkerMessage) => void
}

export class Reporter {
  readonly #options: ReporterOptions
  #timer: NodeJS.Timeout | undefined
  /** When the counts of the next report began; they belong to its minute. */
  #sinceMs: number

  constructor(options: ReporterOptions) {
    this.#options = options
    this.#sinceMs = options.wallClock.now()
  }

  start(): void {
    const { sampler, wallClock } = this.#options
    const untilNext = SECOND_MS - (wallClock.now() % SECOND_MS) + SLACK_MS
    this.#timer = setTimeout(() => {
      wallClock.follow()
      this.#report(sampler.take(wallClock.now()))
      this.start()
    }, untilNext)
    this.#timer.unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#report(this.#options.sampler.takeAll())
  }

  #report(samples: readonly LogSample[]): void {
    const minuteMs = Math.floor(this.#sinceMs / MINUTE_MS) * MINUTE_MS
    const { counters, wallClock, send } = this.#options
    this.#sinceMs = wallClock.now()
    let traffic = counters.take(minuteMs)
    for (const logs of samples) {
      send({ kind: 'report', traffic, logs, ...this.#counts() })
      traffic = new TrafficPacker(minuteMs, 0).finish()
    }
    if (traffic.names === '') return
    const nothing = { seen: 0, lines: [] }
    const logs = { secondMs: this.#sinceMs, ordinary: nothing, notable: nothing }
    send({ kind: 'report', traffic, logs, ...this.#counts() })
  }

  #counts() {
    const { gauges, states } = this.#options
    const { draining, unhealthy } = states
    return { gauges: gauges.snapshot(), draining: draining(), unhealthy: unhealthy() }
  }
}
