/**
 * An immutable map that is made from the one before at the cost of what changes: a base that versions share, and
 * over it the entries that differ. Once these are many they and the base become a base of their own.
 */

/** In place of a value: the base's entry is gone. */
const GONE = Symbol('gone')

/** So that copying them and making a new base now and then cost about the same. */
const OVER_MIN = 32

export class LayeredMap<V> implements ReadonlyMap<string, V> {
  readonly size: number
  readonly #base: ReadonlyMap<string, V>
  readonly #over: ReadonlyMap<string, V | typeof GONE>

  private constructor(
    base: ReadonlyMap<string, V>,
    over: ReadonlyMap<string, V | typeof GONE>,
    size: number,
  ) {
    this.#base = base
    this.#over = over
    this.size = size
  }

  /** `entries` are taken as they are: do not change them after. */
  static of<V>(entries: ReadonlyMap<string, V> = new Map()): LayeredMap<V> {
    return new LayeredMap(entries, new Map(), entries.size)
  }

  get(key: string): V | undefined {
    const value = this.#over.get(key)
    if (value === undefined) return this.#base.get(key)
    return value === GONE ? undefined : value
  }

  has(key: string): boolean {
    const value = this.#over.get(key)
    return value === undefined ? this.#base.has(key) : value !== GONE
  }

  /** What is put under a key that is removed too is there. */
  with(put: Iterable<readonly [string, V]>, removed: Iterable<string>): LayeredMap<V> {
    const over = new Map(this.#over)
    for (const key of removed) {
      if (this.#base.has(key)) over.set(key, GONE)
      else over.delete(key)
    }
    for (const [key, value] of put) over.set(key, value)
    let size = this.#base.size
    for (const [key, value] of over) {
      if (value === GONE) size -= 1
      else if (!this.#base.has(key)) size += 1
    }
    const changed = new LayeredMap(this.#base, over, size)
    const isMany = over.size > OVER_MIN && over.size ** 2 > 2 * this.#base.size
    return isMany ? LayeredMap.of(new Map(changed)) : changed
  }

  /** The keys whose values may differ from those of a map that this one was made of, or all of both. */
  keysUnlike(other: LayeredMap<V>): Iterable<string> {
    const isSameBase = this.#base === other.#base
    const [mine, others] = isSameBase ? [this.#over, other.#over] : [this, other]
    return new Set([...mine.keys(), ...others.keys()])
  }

  /** In the order of the base, with what is new behind it. */
  *[Symbol.iterator](): MapIterator<[string, V]> {
    const over = this.#over
    for (const entry of this.#base) {
      const value = over.size === 0 ? undefined : over.get(entry[0])
      if (value === undefined) yield entry
      else if (value !== GONE) yield [entry[0], value]
    }
    for (const [key, value] of over) {
      if (value !== GONE && !this.#base.has(key)) yield [key, value]
    }
  }

  entries(): MapIterator<[string, V]> {
    return this[Symbol.iterator]()
  }

  *keys(): MapIterator<string> {
    for (const [key] of this) yield key
  }

  *values(): MapIterator<V> {
    for (const [, value] of this) yield value
  }

  forEach(callback: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this) callback(value, key, this)
  }
}
