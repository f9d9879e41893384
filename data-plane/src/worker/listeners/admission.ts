/**
 * Which connections from clients a worker takes: bounds in all, by what descriptors are left, and for each
 * client. Whoever is over one is closed at once and counted as shed. Above the descriptors' bound libuv would
 * accept and close whatever is in the kernel's queue, uncounted, so it is never let come to that.
 */
import { readFileSync } from 'node:fs'
import { limits } from '../../limits.ts'
import type { Gauges } from '../observe/gauges.ts'
import type { Warnings } from '../observe/warnings.ts'

/** One connection of a client to a service needs two. */
const LEAST_DESCRIPTORS = 2

export class Admission {
  readonly #gauges: Gauges
  readonly #warnings: Warnings
  readonly #descriptorsMax: number
  /** Open connections of each client; empty while there is no bound for one. */
  readonly #byClient = new Map<string, number>()

  /** `descriptorsMax`: files that the process may have open. */
  constructor(gauges: Gauges, warnings: Warnings, descriptorsMax: number) {
    this.#gauges = gauges
    this.#warnings = warnings
    this.#descriptorsMax = Math.max(LEAST_DESCRIPTORS, descriptorsMax - limits.descriptorsReserved)
  }

  /** Whether one more connection can be taken, whoever it is from. */
  get hasRoom(): boolean {
    const { connectionsOpen, upstreamConnectionsOpen } = this.#gauges
    if (connectionsOpen >= limits.clientConnectionsMax) return false
    if (connectionsOpen + upstreamConnectionsOpen < this.#descriptorsMax) return true
    this.#warnings.warn('descriptors-used-up')
    return false
  }

  get isClientBounded(): boolean {
    return limits.connectionsPerClientMax > 0
  }

  /** Counts a client's connection. False: it has too many. Each true needs a `leave`. */
  enter(address: string, isTrusted: boolean): boolean {
    const client = clientOf(address)
    const count = this.#byClient.get(client) ?? 0
    if (count >= limits.connectionsPerClientMax && !isTrusted) return false
    this.#byClient.set(client, count + 1)
    return true
  }

  leave(address: string): void {
    const client = clientOf(address)
    const count = this.#byClient.get(client) ?? 0
    if (count > 1) this.#byClient.set(client, count - 1)
    else this.#byClient.delete(client)
  }
}

/** Networks give whole /64 ranges to one customer, who may use any address of it. */
function clientOf(address: string): string {
  if (!address.includes(':')) return address
  const [left = '', right] = address.split('::')
  const groups = left === '' ? [] : left.split(':')
  if (right !== undefined) {
    const after = right === '' ? 0 : right.split(':').length
    while (groups.length + after < 8) groups.push('0')
  }
  return groups.slice(0, 4).join(':')
}

/** The limit of open files of this process; Infinity where the system does not say. */
export function readDescriptorsMax(): number {
  try {
    const line = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
    return line === null ? Number.POSITIVE_INFINITY : Number(line[1])
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
