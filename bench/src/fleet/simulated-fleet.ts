/** All simulated nodes, and what is asked of them as a whole. */
import { setTimeout as delay } from 'node:timers/promises'
import type { TrafficRow } from '@sluice/proto'
import type { NodeIdentity } from './enrolment.ts'
import { SharedVersions } from './shared-versions.ts'
import { SimulatedNode } from './simulated-node.ts'

const MINUTE_MS = 60_000
const LOOK_MS = 20
/** More handshakes at a time only make all of them late, since both sides share the CPUs. */
const CONNECTING_MAX = 250
const CONNECTED_AT_ONCE = 25
const TELEMETRY_MS = 10_000
const ROUTERS_OF_NODE = 100
const REQUESTS_OF_ROW = 7

export class SimulatedFleet {
  readonly #nodes: readonly SimulatedNode[]
  #awaited = 0n
  #appliedAtMs: number[] = []
  #requestsCounted = 0

  constructor(identities: readonly NodeIdentity[], address: string) {
    const versions = new SharedVersions()
    this.#nodes = identities.map(
      (identity) =>
        new SimulatedNode({
          identity,
          address,
          versions,
          onApplied: (_node, version) => {
            if (version === this.#awaited) this.#appliedAtMs.push(performance.now())
          },
        }),
    )
  }

  get bytesReceived(): number {
    return this.#sum((node) => node.bytesReceived)
  }

  get fullUpdates(): number {
    return this.#sum((node) => node.fullUpdates)
  }

  get batchesStored(): number {
    return this.#sum((node) => node.batchesStored)
  }

  get batchesWaiting(): number {
    return this.#sum((node) => node.batchesWaiting)
  }

  /** Requests in all batches so far. */
  get requestsCounted(): number {
    return this.#requestsCounted
  }

  async connect(withinMs: number): Promise<void> {
    const isRoom = (begun: number) => begun - this.#connected < CONNECTING_MAX
    for (const [index, node] of this.#nodes.entries()) {
      node.connect()
      if (index % CONNECTED_AT_ONCE > 0) continue
      await until(() => isRoom(index), withinMs, 'the connections of the first nodes')
    }
  }

  stop(): void {
    for (const node of this.#nodes) node.stop()
  }

  /** From now on, the moments at which nodes apply this version are kept. */
  expect(version: number): void {
    this.#awaited = BigInt(version)
    this.#appliedAtMs = []
  }

  /** The moments at which each node had applied the expected version. */
  async applied(withinMs: number): Promise<readonly number[]> {
    const isOn = (node: SimulatedNode) => node.version === this.#awaited
    await until(() => this.#nodes.every(isOn), withinMs, `version ${this.#awaited} on all nodes`)
    return this.#appliedAtMs
  }

  /** Every node reports every ten seconds, the nodes evenly spread over them. */
  async report(seconds: number, routers: number): Promise<void> {
    const began = performance.now()
    const total = Math.round((seconds * 1_000 * this.#nodes.length) / TELEMETRY_MS)
    for (let sent = 0; sent < total; sent += 1) {
      const dueMs = began + (sent * TELEMETRY_MS) / this.#nodes.length
      const aheadMs = dueMs - performance.now()
      if (aheadMs > 1) await delay(aheadMs)
      const index = sent % this.#nodes.length
      this.#nodes[index]?.count(this.#rows(index, routers))
    }
  }

  async stored(withinMs: number): Promise<void> {
    await until(() => this.batchesWaiting === 0, withinMs, 'the acknowledgement of all batches')
  }

  #rows(node: number, routers: number): TrafficRow[] {
    const minuteMs = BigInt(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS)
    const count = Math.min(ROUTERS_OF_NODE, routers)
    this.#requestsCounted += count * REQUESTS_OF_ROW
    return Array.from({ length: count }, (_, index) => ({
      minuteMs,
      router: `r${(node * count + index) % routers}`,
      service: 'origin',
      requests: {
        informational: 0n,
        success: BigInt(REQUESTS_OF_ROW - 1),
        redirection: 0n,
        clientError: 1n,
        serverError: 0n,
        none: 0n,
      },
      bytesIn: 700n,
      bytesOut: 70_000n,
      latency: { indexDeltas: [100, 5, 20], counts: [3n, 3n, 1n], sumUs: 5_000n },
      firstByte: { indexDeltas: [90, 15], counts: [3n, 4n], sumUs: 4_000n },
      // A read that the origin answered, over HTTP/1.1, with success and with a client's error.
      breakdown: { codeDeltas: [133, 2], counts: [BigInt(REQUESTS_OF_ROW - 1), 1n] },
      retries: 0n,
    }))
  }

  get #connected(): number {
    return this.#sum((node) => (node.isConnected ? 1 : 0))
  }

  #sum(figure: (node: SimulatedNode) => number): number {
    return this.#nodes.reduce((sum, node) => sum + figure(node), 0)
  }
}

export async function until(look: () => boolean, withinMs: number, what: string): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!look()) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`)
    await delay(LOOK_MS)
  }
}
