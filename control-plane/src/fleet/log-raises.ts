/**
 * Wishes of operators for more log lines for a while, of all nodes or of one. They are kept in memory: each node
 * ends its own by itself, and a control plane that starts again has no reason to go on.
 */
import { fleetLimits as limits } from './limits.ts'

export interface LogRaiseWish {
  /** Lines in any second, when it is above the setting. */
  readonly perSecond: number
  readonly untilMs: number
  /** Empty: all nodes. */
  readonly nodeId: string
}

export class LogRaises {
  readonly #now: () => number
  readonly #wishes = new Map<string, LogRaiseWish>()
  readonly #listeners = new Set<() => void>()

  constructor(now: () => number) {
    this.#now = now
  }

  list(): LogRaiseWish[] {
    const nowMs = this.#now()
    for (const [nodeId, { untilMs }] of this.#wishes) {
      if (untilMs <= nowMs) this.#wishes.delete(nodeId)
    }
    return [...this.#wishes.values()]
  }

  /** Replaces an earlier one for the same node, or for all; undefined: there are as many as may be. */
  set(wish: Omit<LogRaiseWish, 'untilMs'> & { readonly forMs: number }): LogRaiseWish | undefined {
    const { perSecond, nodeId, forMs } = wish
    const isNew = !this.list().some((one) => one.nodeId === nodeId)
    if (isNew && this.#wishes.size >= limits.logRaisesMax) return undefined
    const set = { perSecond, nodeId, untilMs: this.#now() + forMs }
    this.#wishes.set(nodeId, set)
    this.#tell()
    return set
  }

  clear(): void {
    this.#wishes.clear()
    this.#tell()
  }

  /** What a node is to be told; the larger one of its own and that of all nodes. */
  for(nodeId: string): { readonly perSecond: number; readonly forMs: number } {
    const nowMs = this.#now()
    const [first] = this.list()
      .filter((wish) => wish.nodeId === '' || wish.nodeId === nodeId)
      .sort((one, other) => other.perSecond - one.perSecond)
    return first === undefined
      ? { perSecond: 0, forMs: 0 }
      : { perSecond: first.perSecond, forMs: first.untilMs - nowMs }
  }

  /** Returns the function that ends it. */
  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
