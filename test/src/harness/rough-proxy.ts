/**
 * A TCP proxy that is hard on what passes: while it is rough each connection is delayed, cut after some bytes, and
 * sometimes its pieces come in another order. It can also lose one side of its connections without telling the other.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Scope } from './scope.ts'

const DELAY_MS = 5
/** A handshake alone is some 3,000 bytes, so that most cuts come after it. */
const BYTES_MIN = 4_000
const BYTES_SPREAD = 30_000
const SWAPPED_SHARE = 0.02

interface Passage {
  readonly client: Socket
  readonly upstream: Socket
  bytesLeft: number
  /** The upstream is not told that the client is gone. */
  isHalfOpen: boolean
}

export class RoughProxy {
  readonly port: number
  isRough = false
  cuts = 0
  swaps = 0
  readonly #passages = new Set<Passage>()

  static async start(scope: Scope, to: number): Promise<RoughProxy> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new RoughProxy((server.address() as AddressInfo).port)
    server.on('connection', (client) => proxy.#forward(client, to))
    scope.defer(() => {
      server.close()
      proxy.cutAll()
    })
    return proxy
  }

  private constructor(port: number) {
    this.port = port
  }

  /** Connections whose other end is gone and that the upstream still holds. */
  get halfOpenCount(): number {
    return [...this.#passages].filter(({ isHalfOpen }) => isHalfOpen).length
  }

  /** Clients see a reset; the upstream sees nothing. */
  cutClients(): void {
    for (const passage of this.#passages) {
      passage.isHalfOpen = true
      passage.client.resetAndDestroy()
    }
  }

  cutAll(): void {
    for (const { client, upstream } of this.#passages) {
      client.destroy()
      upstream.destroy()
    }
  }

  #forward(client: Socket, to: number): void {
    const upstream = connect(to, '127.0.0.1')
    const bytesLeft = BYTES_MIN + Math.random() * BYTES_SPREAD
    const passage = { client, upstream, bytesLeft, isHalfOpen: false }
    this.#passages.add(passage)
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.on('close', () => {
      if (!passage.isHalfOpen) upstream.destroy()
    })
    upstream.on('close', () => {
      client.destroy()
      this.#passages.delete(passage)
    })
    client.on('data', (bytes: Buffer) => void this.#pass(passage, client, upstream, bytes))
    upstream.on('data', (bytes: Buffer) => void this.#pass(passage, upstream, client, bytes))
  }

  async #pass(passage: Passage, from: Socket, into: Socket, bytes: Buffer): Promise<void> {
    if (!this.isRough) {
      into.write(bytes)
      return
    }
    from.pause()
    await delay(Math.random() * DELAY_MS)
    passage.bytesLeft -= bytes.length
    if (passage.bytesLeft <= 0) {
      this.cuts += 1
      // What fits still goes, so that messages break off in the middle.
      into.write(bytes.subarray(0, Math.max(0, bytes.length + passage.bytesLeft)))
      into.end()
      from.destroy()
      return
    }
    into.write(this.#isSwapped(bytes) ? swapped(bytes) : bytes)
    from.resume()
  }

  #isSwapped(bytes: Buffer): boolean {
    if (bytes.length < 2 || Math.random() >= SWAPPED_SHARE) return false
    this.swaps += 1
    return true
  }
}

function swapped(bytes: Buffer): Buffer {
  const middle = bytes.length >> 1
  return Buffer.concat([bytes.subarray(middle), bytes.subarray(0, middle)])
}
