/** What simulated connections stand between. */
import type { Random } from '../random.ts'
import type { SimulatedTransport } from './simulated-transport.ts'
import type { VirtualTime } from './virtual-time.ts'

/** What the peer hears of the engine. */
export interface PeerListener {
  onBytes(bytes: Buffer): void
  /** The engine's FIN, after all that it sent. */
  onEnd(): void
  /** The engine closed, or reset; the last call. */
  onGone(isReset: boolean): void
}

/** How a connection behaves. */
export interface Temper {
  /** The longest wait between two I/O events of a direction. */
  readonly delayMsMax: number
  /** The most that one read gives to either side. */
  readonly splitBytesMax: number
  /** That a write is not taken at once. */
  readonly behindChance: number
  /** Kept buffers as with handles, or copies that count up to the bound from which on the engine is behind. */
  readonly copiesUpTo: number | 'keeps'
  /** A reset is noticed although the engine does not read. */
  readonly noticesWhilePaused: boolean
  /** Bytes on their way may be lost when either side resets. */
  readonly losesOnReset: boolean
}

/** All connections of a run. */
export interface Surroundings {
  readonly time: VirtualTime
  readonly random: Random
  /** The engine wrote to any connection. */
  onEngineWrote(transport: SimulatedTransport, length: number): void
  /** Says what happens, for a seed that is looked at. */
  readonly trace: ((line: string) => void) | undefined
}
