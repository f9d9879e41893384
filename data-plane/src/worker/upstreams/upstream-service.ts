/** A service as a worker uses it: its servers and whose turn it is. Survives versions that keep it. Hot: pick. */
import type { DeadlineSweep } from '../deadline-sweep.ts'
import type { Gauges } from '../observe/gauges.ts'
import type { UpstreamServer } from './upstream-server.ts'
import { WaitQueue } from './wait-queue.ts'

export interface ServerShare {
  readonly server: UpstreamServer
  readonly weight: number
}

interface Share extends ServerShare {
  /** Its weight now: less than `weight` while it rises. */
  risen: number
  /** Smooth weighted round robin: grows by the weight at each pick, falls by the sum when picked. */
  credit: number
}

/** Of its weight, so that a server gets something from the beginning. */
const LEAST_PART = 0.1

export class UpstreamService {
  isHostPassed = true
  /** How long the share of a server rises; 0: it is whole at once. Holds from the next setServers. */
  slowStartMs = 0
  /** What a name of its servers stands for is not known yet: exchanges wait for that too. */
  isAwaitingNames = false
  /** Exchanges wait here while every server is at its cap or its name is looked up, and only then. */
  readonly queue: WaitQueue
  #shares: Share[] = []
  #weightSum = 0
  #isEven = true
  #risingUntil = 0
  readonly #deadlines: DeadlineSweep
  #turn = 0

  constructor(deadlines: DeadlineSweep, gauges: Gauges) {
    this.#deadlines = deadlines
    this.queue = new WaitQueue(deadlines, gauges)
  }

  get serverCount(): number {
    return this.#shares.length
  }

  /** Servers of weight 0 get nothing. Whose turn it is stays when the servers do. */
  setServers(servers: readonly ServerShare[]): void {
    for (const { server, weight } of servers) {
      if (weight > 0) server.enterTurn()
      else server.leaveTurn()
    }
    const before = new Map(this.#shares.map((share) => [share.server, share.credit]))
    this.#shares = servers
      .filter(({ weight }) => weight > 0)
      .map(({ server, weight }) => ({
        server,
        weight,
        risen: weight,
        credit: before.get(server) ?? 0,
      }))
    const last = this.#shares.reduce((at, { server }) => Math.max(at, server.inTurnSince), 0)
    this.#risingUntil = this.slowStartMs === 0 ? 0 : last + this.slowStartMs
    this.#rise()
  }

  /** The next server in turn that has or may dial a connection; undefined for none. */
  pick(): UpstreamServer | undefined {
    return this.queue.isEmpty ? this.#pickInTurn() : undefined
  }

  /** The next one after a server that failed, so that going on meets every server once. */
  pickAfter(failed: UpstreamServer): UpstreamServer | undefined {
    const at = this.#shares.findIndex((share) => share.server === failed)
    return at === -1 || !this.queue.isEmpty ? this.pick() : this.#pickFree(at)
  }

  /** After a change of servers or caps: those that wait longest may dial. */
  admitWaiting(): void {
    if (this.#shares.length === 0 && !this.isAwaitingNames) this.queue.dismissAll()
    let isAdmitted = !this.queue.isEmpty
    while (isAdmitted) isAdmitted = this.#pickInTurn()?.admitOne() === true
  }

  #pickInTurn(): UpstreamServer | undefined {
    if (this.#risingUntil > 0) this.#rise()
    const server = this.#isEven ? this.#pickNext() : this.#pickWeighted()
    return server === undefined || server.isFree ? server : this.#pickFree(this.#turn)
  }

  /** Brings the weights to what they are now. */
  #rise(): void {
    const { now } = this.#deadlines
    if (now >= this.#risingUntil) this.#risingUntil = 0
    this.#weightSum = 0
    for (const share of this.#shares) {
      const part = (now - share.server.inTurnSince) / this.slowStartMs
      const isWhole = this.#risingUntil === 0 || part >= 1
      share.risen = isWhole ? share.weight : share.weight * Math.max(LEAST_PART, part)
      this.#weightSum += share.risen
    }
    this.#isEven = this.#shares.every((share) => share.risen === this.#shares[0]?.risen)
  }

  /** The first that is free after a place, that place coming last. */
  #pickFree(place: number): UpstreamServer | undefined {
    const count = this.#shares.length
    for (let step = 1; step <= count; step += 1) {
      const server = this.#shares[(place + step) % count]?.server
      if (server?.isFree === true) return server
    }
    return undefined
  }

  #pickNext(): UpstreamServer | undefined {
    this.#turn = this.#turn + 1 < this.#shares.length ? this.#turn + 1 : 0
    return this.#shares[this.#turn]?.server
  }

  #pickWeighted(): UpstreamServer | undefined {
    let best: Share | undefined
    for (const share of this.#shares) {
      share.credit += share.risen
      if (best === undefined || share.credit > best.credit) best = share
    }
    if (best === undefined) return undefined
    best.credit -= this.#weightSum
    return best.server
  }
}
