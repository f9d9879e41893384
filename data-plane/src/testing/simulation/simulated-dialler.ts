/** Connects to scripted servers: at once or later, in vain, or never. */
import type { Dialler, DialOutcome, PendingDial } from '../../worker/transport/dialler.ts'
import type { TransportListener } from '../../worker/transport/transport.ts'
import { SimulatedTransport } from './simulated-transport.ts'
import type { Surroundings, Temper } from './surroundings.ts'

export interface DialBehaviour {
  readonly refusedChance: number
  readonly silentChance: number
  /** The temper of the next connection. */
  temper(): Temper
  /** A server takes a connection. */
  onAccepted(transport: SimulatedTransport): void
}

export class SimulatedDialler implements Dialler {
  readonly #around: Surroundings
  readonly #behaviour: DialBehaviour

  constructor(around: Surroundings, behaviour: DialBehaviour) {
    this.#around = around
    this.#behaviour = behaviour
  }

  dial(host: string, _port: number, outcome: DialOutcome): PendingDial {
    return new SimulatedDial(this.#around, this.#behaviour, host, outcome)
  }
}

class SimulatedDial implements PendingDial {
  readonly #around: Surroundings
  readonly #behaviour: DialBehaviour
  readonly #host: string
  #isCancelled = false

  constructor(around: Surroundings, behaviour: DialBehaviour, host: string, outcome: DialOutcome) {
    const { random, time } = around
    this.#around = around
    this.#behaviour = behaviour
    this.#host = host
    const isRefused = random.chance(behaviour.refusedChance)
    if (!isRefused && random.chance(behaviour.silentChance)) return
    time.after(random.skewed(1_000), () => {
      if (this.#isCancelled) return
      if (isRefused) outcome.onRefused('ECONNREFUSED')
      else outcome.onConnected()
    })
  }

  adopt(listener: TransportListener): SimulatedTransport {
    const temper = this.#behaviour.temper()
    const transport = new SimulatedTransport(
      this.#around,
      temper,
      listener,
      this.#host,
      `server ${this.#host}`,
    )
    this.#behaviour.onAccepted(transport)
    return transport
  }

  cancel(): void {
    this.#isCancelled = true
  }
}
