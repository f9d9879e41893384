/**
 * One name and what it stands for: the last good addresses of each family, and the family that connected.
 * Several services may use it; the NameTable keeps it up to date.
 */
import { limits } from '../../limits.ts'
import { type Deadline, NEVER } from '../deadline-sweep.ts'
import type { FamilyAnswer, NameAnswer } from './name-lookup.ts'

export type Family = 4 | 6

/** One server behind a name. */
export interface NamedAddress {
  readonly address: string
  /** Of the other family, for when this one does not connect soon; '' for none. */
  readonly alternative: string
}

export class WatchedName implements Deadline {
  /** Of the next lookup. */
  deadlineAt = NEVER
  sweepIndex = -1
  readonly name: string
  readonly #onDue: (name: WatchedName) => void
  readonly #onFamily: (name: WatchedName) => void
  #ipv4: readonly string[] = []
  #ipv6: readonly string[] = []
  /** IPv6 first, as long as it connects (RFC 8305). */
  #preferred: Family = 6
  #isFailing = false
  #isLookedUp = false

  /** `onFamily`: another family is preferred from now on. */
  constructor(
    name: string,
    onDue: (name: WatchedName) => void,
    onFamily: (name: WatchedName) => void,
  ) {
    this.name = name
    this.#onDue = onDue
    this.#onFamily = onFamily
  }

  /** The first lookup has not ended. */
  get isPending(): boolean {
    return !this.#isLookedUp
  }

  /** The last lookup gave no address. */
  get isFailing(): boolean {
    return this.#isFailing
  }

  /** The servers behind the name: the addresses of one family. */
  get addresses(): readonly NamedAddress[] {
    const isFirst = this.#preferred === 6 ? this.#ipv6.length > 0 : this.#ipv4.length === 0
    const [primary, other] = isFirst ? [this.#ipv6, this.#ipv4] : [this.#ipv4, this.#ipv6]
    return primary.map((address, index) => ({
      address,
      alternative: other[index % other.length] ?? '',
    }))
  }

  /** Takes what a lookup found; whether the addresses are others now. */
  take(answer: NameAnswer): boolean {
    this.#isLookedUp = true
    if (answer.ipv4.kind !== 'addresses' && answer.ipv6.kind !== 'addresses') {
      this.#isFailing = true
      return false
    }
    this.#isFailing = false
    const ipv4 = newAddresses(answer.ipv4, this.#ipv4)
    const ipv6 = newAddresses(answer.ipv6, this.#ipv6)
    const isOther6 = ipv6.join() !== this.#ipv6.join()
    const isOther = isOther6 || ipv4.join() !== this.#ipv4.join()
    this.#ipv4 = ipv4
    this.#ipv6 = ipv6
    if (isOther6) this.#preferred = 6
    return isOther
  }

  /** When to look it up again, after `answer`. */
  refreshMs(answer: NameAnswer): number {
    if (this.#isFailing) return limits.nameTtlMinMs
    const ttlMs = Math.min(ttlOf(answer.ipv4), ttlOf(answer.ipv6))
    return Math.max(limits.nameTtlMinMs, Math.min(limits.nameTtlMaxMs, ttlMs))
  }

  /** A dial found that this family connects where the other one does not. */
  prefer(family: Family): void {
    if (this.#preferred === family) return
    this.#preferred = family
    this.#onFamily(this)
  }

  onDeadline(): void {
    this.#onDue(this)
  }
}

/** Sorted, so that the order in which a server rotates its answer is no change. */
function newAddresses(answer: FamilyAnswer, before: readonly string[]): readonly string[] {
  switch (answer.kind) {
    case 'addresses':
      return [...new Set(answer.addresses)].sort().slice(0, limits.nameAddressesMax)
    case 'none':
      return []
    case 'failed':
      return before
  }
}

function ttlOf(answer: FamilyAnswer): number {
  return answer.kind === 'addresses' ? answer.ttlMs : Number.POSITIVE_INFINITY
}
