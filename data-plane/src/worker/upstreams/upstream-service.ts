/** A service as a worker uses it: its servers and whose turn it is. Survives versions that keep it. Hot: pick. */
import type { UpstreamServer } from './upstream-server.ts'

interface Share {
  readonly server: UpstreamServer
  readonly weight: number
  /** Smooth weighted round robin: grows by the weight at each pick, falls by the sum when picked. */
  credit: number
}

export class UpstreamService {
  isHostPassed = true
  #shares: Share[] = []
  #weightSum = 0
  #isEven = true
  #turn = 0

  get serverCount(): number {
    return this.#shares.length
  }

  /** Servers of weight 0 get nothing. Whose turn it is stays when the servers do. */
  setServers(
    servers: readonly { readonly server: UpstreamServer; readonly weight: number }[],
  ): void {
    const before = new Map(this.#shares.map((share) => [share.server, share.credit]))
    this.#shares = servers
      .filter(({ weight }) => weight > 0)
      .map(({ server, weight }) => ({ server, weight, credit: before.get(server) ?? 0 }))
    this.#weightSum = this.#shares.reduce((sum, share) => sum + share.weight, 0)
    this.#isEven = this.#shares.every((share) => share.weight === this.#shares[0]?.weight)
  }

  /** The next server in turn; undefined when none has a weight. */
  pick(): UpstreamServer | undefined {
    if (!this.#isEven) return this.#pickWeighted()
    this.#turn = this.#turn + 1 < this.#shares.length ? this.#turn + 1 : 0
    return this.#shares[this.#turn]?.server
  }

  /** The next server after one that failed, so that going on meets every server once. */
  pickAfter(failed: UpstreamServer): UpstreamServer | undefined {
    const at = this.#shares.findIndex((share) => share.server === failed)
    return at === -1 ? this.pick() : this.#shares[(at + 1) % this.#shares.length]?.server
  }

  #pickWeighted(): UpstreamServer | undefined {
    let best: Share | undefined
    for (const share of this.#shares) {
      share.credit += share.weight
      if (best === undefined || share.credit > best.credit) best = share
    }
    if (best === undefined) return undefined
    best.credit -= this.#weightSum
    return best.server
  }
}
