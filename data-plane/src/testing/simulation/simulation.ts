/**
 * One run of the engine against a seeded adversary on a virtual clock: clients, servers and connections that
 * misbehave as the seed says, until everything is quiet. Then the counts must agree. A seed that is calm has
 * nobody misbehave, and every request must be answered.
 */
import type { CompiledService } from '../../configuration/services.ts'
import { limits } from '../../limits.ts'
import { ClientConnection } from '../../worker/exchange/client-connection.ts'
import { Random } from '../random.ts'
import { demand } from './fault.ts'
import { type PlannedRequest, planRequests } from './planned-request.ts'
import { ScriptedClient } from './scripted-client.ts'
import { type RequestBook, ScriptedOrigin } from './scripted-origin.ts'
import { type DialBehaviour, SimulatedDialler } from './simulated-dialler.ts'
import { SimulatedTransport } from './simulated-transport.ts'
import { SimulatedWorker } from './simulated-worker.ts'
import type { Surroundings, Temper } from './surroundings.ts'
import { VirtualTime } from './virtual-time.ts'

export interface RunSummary {
  readonly isCalm: boolean
  readonly exchanges: number
  readonly answered: number
}

/** Longer than all time-outs that can follow each other on a connection. */
const QUIET_AFTER_MS = 900_000
/** What a client may have read from it without anything coming out: two reads and a head. */
const READ_AHEAD_BYTES_MAX = 2 * limits.readBytesMax + limits.headBytesMax
const LINGERING_BYTES_MAX = limits.lingerBytesMax + READ_AHEAD_BYTES_MAX

export class Simulation implements Surroundings, RequestBook, DialBehaviour {
  readonly trace: ((line: string) => void) | undefined
  readonly random: Random
  readonly time: VirtualTime
  readonly isCalm: boolean
  readonly requests = new Map<string, PlannedRequest>()
  readonly refusedChance: number
  readonly silentChance: number
  readonly #worker: SimulatedWorker
  readonly #clients: ScriptedClient[] = []
  readonly #clientTransports = new Set<SimulatedTransport>()
  #bytesToClients = 0
  readonly #serverTransports = new Set<SimulatedTransport>()
  /** To each server, as long as no version changes it; 0: no cap. */
  #connectionsMax: number

  constructor(seed: number, trace?: (line: string) => void) {
    this.trace = trace && ((line) => trace(`${this.time.nowMs.toFixed(0)} ${line}`))
    this.random = new Random(seed)
    this.time = new VirtualTime(this.random)
    this.isCalm = this.random.chance(0.25)
    this.refusedChance = this.isCalm || this.random.chance(0.6) ? 0 : this.random.fraction()
    this.silentChance = this.isCalm || this.random.chance(0.6) ? 0 : this.random.fraction()
    this.#worker = new SimulatedWorker(this.time, this.random, new SimulatedDialler(this, this))
    const service = this.#service()
    this.#connectionsMax = service.connectionsMax
    this.#worker.apply(service)
    const count = this.random.between(1, 4)
    for (let client = 0; client < count; client += 1) this.#openClient(client)
    this.#planChanges()
  }

  /** Throws a SimulationFault where an invariant is broken. */
  run(): RunSummary {
    this.#worker.run(QUIET_AFTER_MS, () => {
      this.#checkHeld()
      return this.#isQuiet()
    })
    this.#worker.checkQuiet(this.#bytesToClients)
    if (this.isCalm) for (const client of this.#clients) client.checkAnswered()
    const all = [...this.requests.values()]
    for (const { id, attempts } of all) {
      const answered = attempts.filter(({ hasAnswered }) => hasAnswered).length
      demand(answered <= 1, () => `${id} was repeated after an answer`)
    }
    return {
      isCalm: this.isCalm,
      exchanges: this.#worker.engine.gauges.exchangesEnded,
      answered: all.filter(({ isAnswered }) => isAnswered).length,
    }
  }

  onEngineWrote(transport: SimulatedTransport, length: number): void {
    if (this.#clientTransports.has(transport)) this.#bytesToClients += length
    for (const one of this.#clientTransports) one.readSinceWrite = 0
  }

  onAccepted(transport: SimulatedTransport): void {
    this.#checkCap(transport)
    new ScriptedOrigin(this, this, transport)
  }

  temper(): Temper {
    const { random } = this
    return {
      delayMsMax: random.pick([0, 5, 50, this.isCalm ? 20 : 300]),
      splitBytesMax: random.pick([1, 10, 300, 5_000, 65_536]),
      behindChance: random.pick([0, 0.1, 0.5, 1]),
      copiesUpTo: random.pick(['keeps', 'keeps', 1, 2_000, limits.tlsPendingBytesMax] as const),
      noticesWhilePaused: random.chance(0.5),
      losesOnReset: !this.isCalm && random.chance(0.5),
    }
  }

  #openClient(index: number): void {
    const requests = planRequests(this.random, index, this.isCalm)
    for (const request of requests) this.requests.set(request.id, request)
    this.time.after(this.random.skewed(500), () => {
      const connection = new ClientConnection(this.#worker.engine, this.#worker.entryPoint)
      const transport = new SimulatedTransport(
        this,
        this.temper(),
        connection,
        '192.0.2.1',
        `client ${index}`,
      )
      this.#clientTransports.add(transport)
      this.#clients.push(new ScriptedClient(this, transport, requests, this.isCalm))
      this.#worker.open(connection, transport)
    })
  }

  #service(): CompiledService {
    const { random } = this
    const hosts = ['192.0.2.11', '192.0.2.12', '2001:db8::13'].slice(0, random.between(1, 3))
    return {
      servers: hosts.map((host, index) => ({
        host,
        port: 80,
        authority: `s${index + 1}`,
        isDraining: false,
        weight: random.pick([1, 1, this.isCalm ? 3 : index]),
      })),
      name: 's',
      isHostPassed: random.chance(0.5),
      proxyProtocol: 'off',
      healthCheck: undefined,
      slowStartMs: 0,
      connectMs: this.isCalm ? 5_000 : random.between(200, 3_000),
      firstByteMs: this.isCalm ? 60_000 : random.between(500, 8_000),
      idleMs: this.isCalm ? 20_000 : random.between(500, 8_000),
      idleConnectionsMax: random.pick([0, 1, 64]),
      connectionsMax: random.pick([0, 0, 1, 2]),
      connectionAgeMaxMs: random.pick([0, 0, random.between(1, 4_000)]),
      queueMax: this.isCalm ? 64 : random.pick([0, 1, 64]),
      queueMs: this.isCalm ? 120_000 : random.between(200, 8_000),
    }
  }

  /** A version that changes the servers, and a worker that drains. */
  #planChanges(): void {
    const { random, time } = this
    while (random.chance(0.2)) {
      time.after(random.skewed(5_000), () => {
        this.#connectionsMax = 0
        this.#worker.apply(this.#service())
      })
    }
    if (!this.isCalm && random.chance(0.1)) {
      time.after(random.skewed(8_000), () => this.#worker.drain())
    }
  }

  #isQuiet(): boolean {
    const { gauges } = this.#worker.engine
    return (
      this.time.nextAtMs === Number.POSITIVE_INFINITY &&
      gauges.connectionsOpen === 0 &&
      gauges.upstreamConnectionsOpen === 0
    )
  }

  #checkCap(opened: SimulatedTransport): void {
    this.#serverTransports.add(opened)
    let count = 0
    for (const one of this.#serverTransports) {
      if (!one.isEngineOpen) this.#serverTransports.delete(one)
      else if (one.remoteAddress === opened.remoteAddress) count += 1
    }
    const isWithin = this.#connectionsMax === 0 || count <= this.#connectionsMax
    demand(isWithin, () => `${count} connections to ${opened.remoteAddress}`)
  }

  #checkHeld(): void {
    for (const transport of this.#clientTransports) {
      if (!transport.isEngineOpen) {
        this.#clientTransports.delete(transport)
        continue
      }
      const most = transport.hasEnded ? LINGERING_BYTES_MAX : READ_AHEAD_BYTES_MAX
      demand(transport.readSinceWrite <= most, () => `${transport.readSinceWrite} bytes are held`)
    }
  }
}
