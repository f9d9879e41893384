/** Totals of this boot for /metrics: traffic by router and service, and the workers' gauges summed up. */
import {
  type DrainCount,
  STATUS_CLASSES,
  type TrafficDelta,
  type UnhealthyServer,
  type WorkerGauges,
  type WorkerReport,
} from '../worker-protocol.ts'
import { limits } from './limits.ts'

export interface TrafficTotal {
  readonly router: string
  readonly service: string
  readonly requests: Float64Array
  bytesIn: number
  bytesOut: number
  durationUs: number
}

export type Gauges = { -readonly [name in keyof WorkerGauges]: number }

export class NodeCounters {
  readonly #traffic = new Map<string, TrafficTotal>()
  readonly #alive = new Map<object, WorkerGauges>()
  readonly #draining = new Map<object, readonly DrainCount[]>()
  readonly #unhealthy = new Map<object, readonly UnhealthyServer[]>()
  readonly #gone = noGauges()

  add(
    worker: object,
    traffic: readonly TrafficDelta[],
    { gauges, draining, unhealthy }: Pick<WorkerReport, 'gauges' | 'draining' | 'unhealthy'>,
  ): void {
    this.#alive.set(worker, gauges)
    this.#draining.set(worker, draining)
    this.#unhealthy.set(worker, unhealthy)
    for (const delta of traffic) this.#addTraffic(delta)
  }

  /** Whatever it had open ended with it. */
  workerEnded(worker: object): void {
    const last = this.#alive.get(worker)
    if (last === undefined) return
    this.#alive.delete(worker)
    this.#draining.delete(worker)
    this.#unhealthy.delete(worker)
    this.#gone.connectionsAccepted += last.connectionsAccepted
    this.#gone.connectionsClosed += last.connectionsAccepted
    this.#gone.exchangesStarted += last.exchangesStarted
    this.#gone.exchangesEnded += last.exchangesStarted
    this.#gone.exchangesShed += last.exchangesShed
    this.#gone.nameLookupsFailed += last.nameLookupsFailed
    this.#gone.connectionsShed += last.connectionsShed
    this.#gone.proxyHeadersRefused += last.proxyHeadersRefused
  }

  /** Of all workers together. */
  draining(): DrainCount[] {
    const sums = new Map<string, DrainCount>()
    for (const one of [...this.#draining.values()].flat()) {
      const key = `${one.kind}\n${one.name}\n${one.serverUrl}`
      const exchangesOpen = one.exchangesOpen + (sums.get(key)?.exchangesOpen ?? 0)
      sums.set(key, { ...one, exchangesOpen })
    }
    return [...sums.values()]
  }

  /** In any worker, with the number of workers that say so. */
  unhealthy(): (UnhealthyServer & { readonly workers: number })[] {
    const found = new Map<string, UnhealthyServer & { readonly workers: number }>()
    for (const ofWorker of this.#unhealthy.values()) {
      const keys = new Map(ofWorker.map((one) => [`${one.service}\n${one.server}`, one]))
      for (const [key, one] of keys) {
        found.set(key, { ...one, workers: (found.get(key)?.workers ?? 0) + 1 })
      }
    }
    return [...found.values()]
  }

  traffic(): Iterable<TrafficTotal> {
    return this.#traffic.values()
  }

  gauges(): Gauges {
    const sum = { ...this.#gone }
    for (const gauges of this.#alive.values()) {
      for (const name of GAUGE_NAMES) sum[name] += gauges[name]
    }
    return sum
  }

  #addTraffic(delta: TrafficDelta): void {
    const total = this.#totalOf(delta.router, delta.service)
    STATUS_CLASSES.forEach((_, at) => {
      total.requests[at] = (total.requests[at] ?? 0) + (delta.requests[at] ?? 0)
    })
    total.bytesIn += delta.bytesIn
    total.bytesOut += delta.bytesOut
    total.durationUs += delta.latencySumUs
  }

  /** Past the bound, new routers are counted under the empty name. */
  #totalOf(router: string, service: string): TrafficTotal {
    const key = `${router}\n${service}`
    const known = this.#traffic.get(key)
    if (known !== undefined) return known
    const isFull = this.#traffic.size >= limits.metricSeriesMax
    if (isFull && key !== '\n') return this.#totalOf('', '')
    const requests = new Float64Array(STATUS_CLASSES.length)
    const total = { router, service, requests, bytesIn: 0, bytesOut: 0, durationUs: 0 }
    this.#traffic.set(key, total)
    return total
  }
}

function noGauges(): Gauges {
  return {
    connectionsAccepted: 0,
    connectionsClosed: 0,
    connectionsOpen: 0,
    exchangesStarted: 0,
    exchangesEnded: 0,
    exchangesOpen: 0,
    exchangesWaiting: 0,
    exchangesShed: 0,
    upstreamConnectionsOpen: 0,
    upstreamConnectionsIdle: 0,
    namesFailing: 0,
    nameLookupsFailed: 0,
    serversHealthy: 0,
    serversUnhealthy: 0,
    connectionsShed: 0,
    proxyHeadersRefused: 0,
  }
}

const GAUGE_NAMES = Object.keys(noGauges()) as (keyof Gauges)[]
