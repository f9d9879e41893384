/** A worker over simulated connections of which a test plays the other ends, on a clock that it moves. */
import type { CompiledService } from '../../configuration/services.ts'
import { ClientConnection } from '../../worker/exchange/client-connection.ts'
import { Random } from '../random.ts'
import { type DialBehaviour, SimulatedDialler } from './simulated-dialler.ts'
import { SimulatedTransport } from './simulated-transport.ts'
import { SimulatedWorker } from './simulated-worker.ts'
import type { PeerListener, Surroundings, Temper } from './surroundings.ts'
import { VirtualTime } from './virtual-time.ts'

/** Takes all at once and gives all at once. */
export const WILLING: Temper = {
  delayMsMax: 0,
  splitBytesMax: 65_536,
  behindChance: 0,
  copiesUpTo: 'keeps',
  noticesWhilePaused: false,
  losesOnReset: false,
}

/** The end of a connection that the test has. */
export class StagePeer implements PeerListener {
  readonly transport: SimulatedTransport
  received = ''
  ending: 'open' | 'fin' | 'closed' | 'reset' = 'open'
  /** Called with all that came until now. */
  onReceived: (received: string) => void = () => {}

  constructor(transport: SimulatedTransport) {
    this.transport = transport
    transport.attachPeer(this)
  }

  send(text: string): void {
    this.transport.peerSends(Buffer.from(text, 'latin1'))
  }

  onBytes(bytes: Buffer): void {
    this.received += bytes.toString('latin1')
    this.onReceived(this.received)
  }

  onEnd(): void {
    this.ending = 'fin'
  }

  onGone(isReset: boolean): void {
    this.ending = isReset ? 'reset' : 'closed'
  }
}

export class Stage implements Surroundings, DialBehaviour {
  readonly trace = undefined
  readonly random: Random
  readonly time: VirtualTime
  readonly worker: SimulatedWorker
  readonly refusedChance = 0
  readonly silentChance = 0
  /** The engine's connections to the server, oldest first. */
  readonly servers: StagePeer[] = []
  /** Told of each. */
  onServer: (server: StagePeer) => void = () => {}
  readonly #temper: Temper

  constructor(seed = 1, temper: Temper = WILLING, timeouts: Partial<CompiledService> = {}) {
    this.random = new Random(seed)
    this.time = new VirtualTime(this.random)
    this.#temper = temper
    this.worker = new SimulatedWorker(this.time, this.random, new SimulatedDialler(this, this))
    this.worker.apply({
      servers: [{ host: '192.0.2.11', port: 80, authority: 's', weight: 1, isDraining: false }],
      name: 's',
      isHostPassed: true,
      proxyProtocol: 'off',
      healthCheck: undefined,
      slowStartMs: 0,
      connectMs: 1_000,
      firstByteMs: 5_000,
      idleMs: 5_000,
      idleConnectionsMax: 64,
      connectionsMax: 0,
      connectionAgeMaxMs: 0,
      queueMax: 64,
      queueMs: 5_000,
      ...timeouts,
    })
  }

  openClient(temper: Temper = this.#temper): StagePeer {
    const connection = new ClientConnection(this.worker.engine, this.worker.entryPoint)
    const transport = new SimulatedTransport(this, temper, connection, '192.0.2.1', 'client')
    this.worker.open(connection, transport)
    return new StagePeer(transport)
  }

  /** Lets so much time pass. */
  pass(ms: number): void {
    this.worker.run(this.time.nowMs + ms, () => false)
  }

  temper(): Temper {
    return this.#temper
  }

  onAccepted(transport: SimulatedTransport): void {
    const server = new StagePeer(transport)
    this.servers.push(server)
    this.onServer(server)
  }

  onEngineWrote(): void {}
}
