/**
 * A connection between the engine and a peer that the adversary plays. Bytes arrive in any split, writes are
 * taken at once or later, and the peer can end, close, reset or vanish between any two events. What the seam
 * promises holds, and nothing more: read bytes are overwritten after the call, kept buffers are read late.
 */
import { limits } from '../../limits.ts'
import {
  type Endpoints,
  type Transport,
  type TransportListener,
  WriteResult,
} from '../../worker/transport/transport.ts'
import { demand } from './fault.ts'
import type { PeerListener, Surroundings, Temper } from './surroundings.ts'

interface Segment {
  readonly bytes: Buffer
  at: number
  /** Arrives in one read. */
  readonly isAtomic: boolean
}

type Ending = 'none' | 'fin' | 'reset'

/** Twice what one read can become: more means that a source was not paused. */
const PENDING_BYTES_MAX = 2 * (limits.readBytesMax + limits.outputSpareBytes)
const SCRIBBLE = 0xdb
const DESTINATION = { destinationAddress: '192.0.2.2', destinationPort: 80 }
const readBuffer = Buffer.allocUnsafeSlow(limits.readBytesMax)

export class SimulatedTransport implements Transport {
  readonly remoteAddress: string
  /** Bytes given to the engine since its last write anywhere. */
  readSinceWrite = 0
  /** All bytes given to the engine. */
  bytesRead = 0
  /** The engine sent its FIN. */
  hasEnded = false
  readonly #name: string
  readonly #around: Surroundings
  readonly #temper: Temper
  #listener: TransportListener
  #peer: PeerListener | undefined
  // From the peer to the engine.
  #inbound: Segment[] = []
  #ending: Ending = 'none'
  #closeCode = ''
  #hasDeliveredEnd = false
  #isReading = false
  #isClosed = false
  #isDelivering = false
  // From the engine to the peer.
  #pending: Buffer[] = []
  #pendingBytes = 0
  #owesWritable = false
  /** Closes by itself once everything is sent. */
  #isFinal = false
  #outbound: Buffer[] = []
  #isWriting = false
  #isPeerReading = true
  #engineIs: 'open' | 'closed' | 'reset' = 'open'
  #hasPeerHeardEnd = false
  /** The peer's process is gone: the next bytes that reach it are answered with a reset. */
  #resetsOnData = false

  constructor(
    around: Surroundings,
    temper: Temper,
    listener: TransportListener,
    remoteAddress: string,
    name: string,
  ) {
    this.#name = name
    this.#around = around
    this.#temper = temper
    this.#listener = listener
    this.remoteAddress = remoteAddress
  }

  get isEngineOpen(): boolean {
    return this.#engineIs === 'open'
  }

  attachPeer(peer: PeerListener): void {
    this.#peer = peer
  }

  endpoints(): Endpoints {
    return { sourceAddress: this.remoteAddress, sourcePort: 1, ...DESTINATION }
  }

  listenWith(listener: TransportListener): void {
    this.#listener = listener
  }

  start(): void {
    this.#isReading = true
    this.#scheduleDelivery()
  }

  write(bytes: Buffer, length: number): number {
    this.#trace(() => `engine writes ${text(bytes, length)}`)
    demand(!this.hasEnded, () => 'the engine writes after its FIN')
    demand(length > 0 && length <= bytes.length, () => `the engine writes ${length} bytes`)
    this.#around.onEngineWrote(this, length)
    if (this.#engineIs !== 'open' || this.#isClosed) return WriteResult.DONE
    if (this.#ending === 'reset') {
      this.#noticeByWriting()
      return WriteResult.DONE
    }
    const view = bytes.subarray(0, length)
    const { random } = this.#around
    const isTaken =
      this.#pending.length === 0 && this.#isPeerReading && !random.chance(this.#temper.behindChance)
    if (isTaken) {
      this.#outbound.push(Buffer.from(view))
      view.fill(SCRIBBLE)
      this.#scheduleWriting()
      return WriteResult.DONE
    }
    return this.#putOff(view)
  }

  pause(): void {
    this.#trace(() => 'engine pauses')
    this.#isReading = false
  }

  resume(): void {
    this.#trace(() => 'engine resumes')
    if (this.#isClosed || this.#isReading) return
    this.#isReading = true
    // A handle that reads on after the FIN hears of it again.
    this.#hasDeliveredEnd = false
    this.#scheduleDelivery()
  }

  end(): boolean {
    this.#trace(() => 'engine ends')
    this.hasEnded = true
    this.#scheduleWriting()
    return this.#pending.length === 0
  }

  finish(): boolean {
    this.#trace(() => 'engine finishes')
    this.#isFinal = true
    // Handles close at once, sockets and TLS later.
    const isGone = this.#pending.length === 0
    if (isGone && this.#temper.copiesUpTo === 'keeps') this.#finishSent()
    else this.end()
    if (isGone) this.#finishLater()
    return isGone
  }

  destroy(): void {
    if (this.#engineIs !== 'open') return
    this.#trace(() => 'engine destroys')
    // With unread bytes a kernel resets; what waits in the process is lost either way.
    const isRude = this.#inbound.length > 0 && this.#temper.losesOnReset
    this.#leave(isRude ? 'reset' : 'closed')
  }

  reset(): void {
    this.#trace(() => 'engine resets')
    if (this.#engineIs === 'open') this.#leave('reset')
  }

  // The peer's side.

  peerSends(bytes: Buffer, isAtomic = false): void {
    this.#trace(() => `peer sends ${text(bytes, bytes.length)}`)
    if (bytes.length === 0 || this.#ending !== 'none') return
    this.#inbound.push({ bytes, at: 0, isAtomic })
    this.#scheduleDelivery()
  }

  peerEnds(): void {
    this.#trace(() => 'peer ends')
    if (this.#ending !== 'none') return
    this.#ending = 'fin'
    this.#scheduleDelivery()
  }

  /** FIN, and nobody is there any more. */
  peerCloses(): void {
    this.#trace(() => 'peer closes')
    this.peerEnds()
    this.#peer = undefined
    this.#resetsOnData = true
    this.#isPeerReading = true
    this.#scheduleWriting()
  }

  peerResets(code: string): void {
    this.#trace(() => `peer resets with ${code}`)
    if (this.#ending === 'reset') return
    this.#peer = undefined
    if (this.#temper.losesOnReset) this.#inbound = []
    this.#becomeReset(code)
  }

  peerReads(isReading: boolean): void {
    this.#trace(() => (isReading ? 'peer reads' : 'peer does not read'))
    this.#isPeerReading = isReading
    if (isReading) this.#scheduleWriting()
  }

  #putOff(view: Buffer): number {
    const { copiesUpTo } = this.#temper
    this.#pendingBytes += view.length
    demand(this.#pendingBytes <= PENDING_BYTES_MAX, () => `${this.#pendingBytes} bytes are pending`)
    this.#owesWritable = true
    this.#scheduleWriting()
    if (copiesUpTo === 'keeps') {
      this.#pending.push(view)
      return WriteResult.KEPT
    }
    this.#pending.push(Buffer.from(view))
    view.fill(SCRIBBLE)
    return this.#pendingBytes >= copiesUpTo ? WriteResult.BEHIND : WriteResult.DONE
  }

  #trace(line: () => string): void {
    this.#around.trace?.(`${this.#name}: ${line()}`)
  }

  #delayMs(): number {
    return this.#around.random.skewed(this.#temper.delayMsMax)
  }

  #scheduleDelivery(): void {
    if (this.#isDelivering || this.#isClosed) return
    this.#isDelivering = true
    this.#around.time.after(this.#delayMs(), () => this.#deliver())
  }

  #deliver(): void {
    this.#isDelivering = false
    if (this.#isClosed) return
    const mayNotice = this.#ending === 'reset' && this.#temper.noticesWhilePaused
    if (!this.#isReading && !mayNotice) return
    if (this.#isReading && this.#inbound.length > 0) {
      const length = this.#gather()
      this.readSinceWrite += length
      this.bytesRead += length
      this.#trace(() => `engine reads ${text(readBuffer, length)}`)
      this.#listener.onBytes(readBuffer, length)
      readBuffer.fill(SCRIBBLE, 0, length)
      this.#scheduleDelivery()
    } else if (this.#ending === 'fin' && !this.#hasDeliveredEnd) {
      this.#hasDeliveredEnd = true
      this.#trace(() => 'engine reads the end')
      this.#listener.onEnd()
    } else if (this.#ending === 'reset') {
      this.#isClosed = true
      this.#trace(() => `engine hears ${this.#closeCode}`)
      this.#listener.onClosed(this.#closeCode)
    }
  }

  /** Puts the next bytes into the read buffer; how many. */
  #gather(): number {
    const { random } = this.#around
    const waiting = this.#inbound.reduce((sum, { bytes, at }) => sum + bytes.length - at, 0)
    // Long messages are not cut into single bytes: that finds nothing more and takes its time.
    const most = Math.max(this.#temper.splitBytesMax, waiting >> 5)
    let room = Math.min(readBuffer.length, random.between(1, most))
    let length = 0
    for (let first = this.#inbound[0]; first !== undefined && room > 0; first = this.#inbound[0]) {
      if (first.isAtomic && length > 0) break
      const part = first.isAtomic
        ? first.bytes.length
        : Math.min(room, first.bytes.length - first.at)
      first.bytes.copy(readBuffer, length, first.at, first.at + part)
      first.at += part
      length += part
      room -= part
      if (first.at === first.bytes.length) this.#inbound.shift()
    }
    return length
  }

  #scheduleWriting(): void {
    if (this.#isWriting) return
    this.#isWriting = true
    this.#around.time.after(this.#delayMs(), () => this.#goOnWriting())
  }

  /** One step of what is on its way to the peer: a pending write completes, or the peer reads. */
  #goOnWriting(): void {
    this.#isWriting = false
    if (!this.#isPeerReading && this.#engineIs === 'open') return
    if (this.#ending === 'reset') {
      this.#failPending()
      return
    }
    const mayComplete = this.#pending.length > 0 && this.#engineIs === 'open'
    if (mayComplete && (this.#outbound.length === 0 || this.#around.random.chance(0.5))) {
      this.#completeWrite()
    } else if (this.#outbound.length > 0) {
      this.#readAsPeer()
    } else {
      this.#finishWriting()
      return
    }
    this.#scheduleWriting()
  }

  #completeWrite(): void {
    const bytes = this.#pending.shift()
    if (bytes === undefined) return
    this.#pendingBytes -= bytes.length
    this.#outbound.push(Buffer.from(bytes))
    if (this.#pending.length === 0) this.#noteSent()
  }

  #readAsPeer(): void {
    if (this.#resetsOnData) {
      this.#becomeReset('ECONNRESET')
      return
    }
    // Many small writes are read together, or a peer falls behind for good.
    if (this.#outbound.length > 8) this.#outbound = [Buffer.concat(this.#outbound)]
    const first = this.#outbound[0]
    if (first === undefined) return
    const most = Math.max(this.#temper.splitBytesMax, first.length >> 3)
    const part = Math.min(first.length, this.#around.random.between(1, most))
    if (part === first.length) this.#outbound.shift()
    else this.#outbound[0] = first.subarray(part)
    this.#peer?.onBytes(first.subarray(0, part))
  }

  #finishWriting(): void {
    const peer = this.#peer
    if (this.#engineIs !== 'open') {
      this.#peer = undefined
      peer?.onGone(this.#engineIs === 'reset')
    } else if (this.hasEnded && !this.#hasPeerHeardEnd) {
      this.#hasPeerHeardEnd = true
      peer?.onEnd()
    }
  }

  #becomeReset(code: string): void {
    this.#ending = 'reset'
    this.#closeCode = code
    this.#outbound = []
    this.#scheduleDelivery()
    this.#scheduleWriting()
  }

  /** After the peer's FIN only writing shows that it is gone. */
  #noticeByWriting(): void {
    if (this.#hasDeliveredEnd) this.#isReading = true
    this.#scheduleDelivery()
  }

  #failPending(): void {
    this.#pending = []
    this.#pendingBytes = 0
    if (!this.#owesWritable || this.#isClosed || this.#engineIs !== 'open') return
    this.#noticeByWriting()
    this.#noteSent()
  }

  /** Nothing waits here any more. */
  #noteSent(): void {
    if (this.#isFinal) this.#finishLater()
    if (!this.#owesWritable || this.#isClosed) return
    this.#owesWritable = false
    this.#trace(() => 'engine may write')
    this.#listener.onWritable()
  }

  #finishLater(): void {
    this.#around.time.after(this.#delayMs(), () => this.#finishSent())
  }

  #finishSent(): void {
    if (this.#isClosed) return
    this.hasEnded = true
    this.destroy()
    this.#listener.onClosed('')
  }

  #leave(how: 'closed' | 'reset'): void {
    this.#engineIs = how
    this.#isClosed = true
    this.#pending = []
    this.#pendingBytes = 0
    this.#inbound = []
    if (how === 'reset' && this.#temper.losesOnReset) {
      this.#outbound.length = this.#around.random.between(0, this.#outbound.length)
    }
    this.#scheduleWriting()
  }
}

function text(bytes: Buffer, length: number): string {
  return `${length} ${JSON.stringify(bytes.toString('latin1', 0, Math.min(length, 100)))}`
}
