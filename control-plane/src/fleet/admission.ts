/**
 * Lets streams of nodes in at a steady rate, so that a whole fleet that comes back does not stall us. Who is
 * over the rate waits its turn, configuration before reports: sent away it would only come back with another
 * handshake. When too many wait, the next one is refused.
 */
import { TokenBucket } from './token-bucket.ts'

export type Lane = 'configuration' | 'reports'

export interface AdmissionOptions {
  readonly perSecond: number
  readonly burst: number
  /** In each lane. */
  readonly waitingMax: number
  readonly now: () => number
}

interface Waiter {
  readonly isWanted: () => boolean
  readonly settle: (outcome: AdmissionOutcome) => void
}

/** `left`: it ended while it waited. */
export type AdmissionOutcome = 'admitted' | 'left' | 'too-many'

const lookEveryMs = 10

export class Admission {
  readonly #bucket: TokenBucket
  readonly #waitingMax: number
  readonly #lanes: Readonly<Record<Lane, Waiter[]>> = { configuration: [], reports: [] }
  #timer: NodeJS.Timeout | undefined

  constructor(options: AdmissionOptions) {
    this.#bucket = new TokenBucket(options)
    this.#waitingMax = options.waitingMax
  }

  /** `isWanted`: whether who asks is still there when its turn comes. */
  enter(lane: Lane, isWanted: () => boolean): Promise<AdmissionOutcome> {
    const waiting = this.#lanes[lane]
    if (waiting.length >= this.#waitingMax) return Promise.resolve('too-many')
    const { promise, resolve } = Promise.withResolvers<AdmissionOutcome>()
    waiting.push({ isWanted, settle: resolve })
    this.#admit()
    return promise
  }

  /** Lets go of all that wait. */
  stop(): void {
    clearTimeout(this.#timer)
    for (const waiting of Object.values(this.#lanes)) {
      for (const { settle } of waiting.splice(0)) settle('left')
    }
  }

  #admit(): void {
    clearTimeout(this.#timer)
    for (const waiting of [this.#lanes.configuration, this.#lanes.reports]) {
      this.#dropGone(waiting)
      while (waiting.length > 0 && this.#bucket.take()) {
        waiting.shift()?.settle('admitted')
        this.#dropGone(waiting)
      }
      if (waiting.length > 0) {
        this.#timer = setTimeout(() => this.#admit(), lookEveryMs)
        return
      }
    }
  }

  /** Those in front only: the others' turn comes. */
  #dropGone(waiting: Waiter[]): void {
    while (waiting[0]?.isWanted() === false) waiting.shift()?.settle('left')
  }
}
