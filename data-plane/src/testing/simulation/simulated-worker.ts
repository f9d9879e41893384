/** The parts of a worker without sockets and timers: composed as worker.ts does, and counted at the end. */
import { type RouteCondition, type RouteEntry, RouteTable } from '@sluice/matching'
import type { CompiledService } from '../../configuration/services.ts'
import { limits } from '../../limits.ts'
import { unpackTraffic } from '../../packed-traffic.ts'
import { type Deadline, DeadlineSweep } from '../../worker/deadline-sweep.ts'
import type { Engine, Route } from '../../worker/engine.ts'
import type { ClientConnection } from '../../worker/exchange/client-connection.ts'
import type { EntryPoint } from '../../worker/exchange/entry-point.ts'
import { HeadParser } from '../../worker/http1/head-parser.ts'
import { OutputBuffer } from '../../worker/http1/output-buffer.ts'
import type { NameLookup } from '../../worker/names/name-lookup.ts'
import { NameTable } from '../../worker/names/name-table.ts'
import { Gauges } from '../../worker/observe/gauges.ts'
import { LogSampler } from '../../worker/observe/log-sampler.ts'
import { TrafficCounters } from '../../worker/observe/traffic-counters.ts'
import { WallClock } from '../../worker/observe/wall-clock.ts'
import { Warnings } from '../../worker/observe/warnings.ts'
import type { Dialler } from '../../worker/transport/dialler.ts'
import type { Transport } from '../../worker/transport/transport.ts'
import { UpstreamRegistry } from '../../worker/upstreams/upstream-registry.ts'
import type { Random } from '../random.ts'
import { demand, SimulationFault } from './fault.ts'
import type { VirtualTime } from './virtual-time.ts'

const anything: RouteCondition = {
  name: 'r',
  priority: 0,
  order: 0,
  host: 'a.test',
  path: { kind: 'any' },
  methods: undefined,
  clientRanges: undefined,
}

/** Servers have addresses here: a lookup would end in another turn of the event loop, out of the seed's hands. */
const noLookup: NameLookup = {
  lookUp: (name) => {
    throw new SimulationFault(`${name} is looked up`)
  },
}

/** Knows how many deadlines are kept: what is left at the end is a leak. */
class CountedSweep extends DeadlineSweep {
  count = 0

  override add(entry: Deadline): void {
    this.count += 1
    super.add(entry)
  }

  override remove(entry: Deadline): void {
    if (entry.sweepIndex >= 0) this.count -= 1
    super.remove(entry)
  }
}

export class SimulatedWorker {
  readonly engine: Engine
  readonly deadlines: CountedSweep
  readonly entryPoint: EntryPoint
  readonly #counters = new TrafficCounters()
  readonly #upstreams: UpstreamRegistry
  readonly #time: VirtualTime
  #entry: RouteEntry<Route> | undefined
  #nextSweepAtMs: number = limits.deadlineTickMs

  constructor(time: VirtualTime, random: Random, dialler: Dialler) {
    const now = () => time.nowMs
    this.#time = time
    this.deadlines = new CountedSweep(now)
    const gauges = new Gauges()
    this.engine = {
      output: new OutputBuffer(),
      requestHead: new HeadParser(),
      answerHead: new HeadParser(),
      deadlines: this.deadlines,
      gauges,
      sampler: new LogSampler(random.fraction),
      warnings: new Warnings(now, () => {}),
      wallClock: new WallClock(now),
      unroutedCounter: this.#counters.of('', ''),
      now,
      isDraining: false,
    }
    this.engine.sampler.capacity = 10
    const { output, answerHead } = this.engine
    const { deadlines } = this
    const names = new NameTable({ deadlines, gauges, lookup: noLookup, onNotice() {} })
    this.#upstreams = new UpstreamRegistry(
      { output, answerHead, deadlines, gauges, dialler },
      names,
      () => undefined,
    )
    this.entryPoint = {
      name: 'web',
      scheme: 'http',
      connections: new Set(),
      isClosing: false,
      defaultCertificate: '',
      routing: {
        table: new RouteTable(),
        trustedPeers: undefined,
        proxyProtocolPeers: undefined,
      },
    }
  }

  apply(service: CompiledService): void {
    const part = { kind: 'service' as const, name: 's', compiled: service, problems: [] }
    this.#upstreams.apply({ removed: [], come: [part] })
    const upstreams = this.#upstreams.get('s')
    demand(upstreams !== undefined, () => 'the registry lost a service')
    const counter = this.#counters.of('r', 's')
    const target = { router: 'r', service: 's', upstreams, counter, isDraining: false }
    const { table } = this.entryPoint.routing
    if (this.#entry !== undefined) table.remove(this.#entry)
    this.#entry = { ...anything, target }
    table.add(this.#entry)
  }

  open(connection: ClientConnection, transport: Transport): void {
    this.engine.gauges.connectionsAccepted += 1
    this.entryPoint.connections.add(connection)
    connection.attach(transport)
    transport.start()
  }

  drain(): void {
    this.engine.isDraining = true
    for (const connection of this.entryPoint.connections) connection.drain()
  }

  /** Lets events and time-outs happen until it is `untilMs` or `isOver`, which is asked before each. */
  run(untilMs: number, isOver: () => boolean): void {
    const time = this.#time
    while (!isOver()) {
      const nextAtMs = Math.min(time.nextAtMs, this.#nextSweepAtMs)
      if (nextAtMs > untilMs) break
      if (time.nextAtMs <= this.#nextSweepAtMs) {
        time.step()
      } else {
        time.nowMs = this.#nextSweepAtMs
        this.#nextSweepAtMs += limits.deadlineTickMs
        this.deadlines.sweep()
      }
      this.#checkStep()
    }
  }

  /** Holds between any two events. */
  #checkStep(): void {
    const { output, gauges } = this.engine
    demand(output.length === 0, () => `${output.length} bytes are left in the output buffer`)
    const { upstreamConnectionsOpen, upstreamConnectionsIdle, exchangesWaiting } = gauges
    demand(exchangesWaiting >= 0, () => 'fewer than none wait')
    demand(upstreamConnectionsIdle >= 0, () => 'fewer than no idle connections')
    demand(upstreamConnectionsIdle <= upstreamConnectionsOpen, () => 'an idle connection is closed')
  }

  /** Holds when nothing happens any more. */
  checkQuiet(bytesToClients: number): void {
    const { gauges, sampler } = this.engine
    const open = gauges.snapshot()
    demand(open.connectionsOpen === 0, () => `${open.connectionsOpen} connections stay open`)
    demand(this.entryPoint.connections.size === 0, () => 'a closed connection is kept')
    demand(open.exchangesOpen === 0, () => `${open.exchangesOpen} exchanges stay open`)
    demand(open.exchangesWaiting === 0, () => `${open.exchangesWaiting} exchanges wait`)
    demand(open.upstreamConnectionsOpen === 0, () => 'a server connection stays open')
    demand(open.upstreamConnectionsIdle === 0, () => 'a closed server connection is idle')
    demand(this.deadlines.count === 0, () => `${this.deadlines.count} deadlines are left`)
    const deltas = unpackTraffic(this.#counters.take(0))
    let counted = 0
    let bytesOut = 0
    for (const delta of deltas) {
      counted += delta.requests.reduce((sum, count) => sum + count, 0)
      bytesOut += delta.bytesOut
    }
    const samples = sampler.takeAll()
    const seen = samples.reduce(
      (sum, { ordinary, notable }) => sum + ordinary.seen + notable.seen,
      0,
    )
    const { exchangesStarted } = open
    demand(counted === exchangesStarted, () => `${exchangesStarted} started, ${counted} counted`)
    demand(seen === exchangesStarted, () => `${exchangesStarted} started, ${seen} sampled`)
    demand(bytesOut === bytesToClients, () => `${bytesToClients} bytes sent, ${bytesOut} counted`)
  }
}
