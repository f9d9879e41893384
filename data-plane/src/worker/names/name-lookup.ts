/**
 * What a name stands for: the hosts file first, as operators expect, then DNS with its times to live, then
 * the system's own resolver for what only it knows (search domains, mDNS). DNS is asked directly, since
 * getaddrinfo gives no time to live and holds a thread while it waits.
 */
import { Resolver, lookup as systemLookup } from 'node:dns/promises'
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { limits } from '../../limits.ts'
import { HostsFile } from './hosts-file.ts'

/** What there is of one family. */
export type FamilyAnswer =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[]; readonly ttlMs: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly reason: string }

export interface NameAnswer {
  readonly ipv4: FamilyAnswer
  readonly ipv6: FamilyAnswer
}

export interface NameLookup {
  /** Always resolves. */
  lookUp(name: string): Promise<NameAnswer>
}

export interface SystemLookupOptions {
  /** ADDRESS or ADDRESS:PORT; empty: those of the system. Once given, the system's resolver is not asked. */
  readonly dnsServers?: readonly string[]
  readonly hostsFile?: string
}

const NONE: FamilyAnswer = { kind: 'none' }
/** RFC 6761 section 6.3: it is never asked for in DNS. */
const LOOPBACK = ['127.0.0.1', '::1']
/** The name does not exist, or has no such record. */
const NO_RECORD_CODES = new Set(['ENOTFOUND', 'ENODATA'])

export class SystemLookup implements NameLookup {
  readonly #dnsServers: readonly string[]
  readonly #hosts: HostsFile
  #resolver: Resolver

  constructor({ dnsServers = [], hostsFile = '/etc/hosts' }: SystemLookupOptions = {}) {
    this.#dnsServers = dnsServers
    this.#hosts = new HostsFile(hostsFile)
    this.#resolver = this.#newResolver()
  }

  async lookUp(name: string): Promise<NameAnswer> {
    const local =
      (await this.#hosts.addressesOf(name)) ?? (isLocalhost(name) ? LOOPBACK : undefined)
    if (local !== undefined) return fromList(local)
    const [ipv4, ipv6] = await Promise.all([
      settle(this.#resolver.resolve4(name, { ttl: true })),
      settle(this.#resolver.resolve6(name, { ttl: true })),
    ])
    if (ipv4.kind === 'failed' && ipv6.kind === 'failed') this.#resolver = this.#newResolver()
    const isSystemNext =
      mayBeElsewhere(ipv4) && mayBeElsewhere(ipv6) && this.#dnsServers.length === 0
    return (isSystemNext ? await askSystem(name) : undefined) ?? { ipv4, ipv6 }
  }

  /** A new one reads resolv.conf, which may have changed when the servers that it named do not answer. */
  #newResolver(): Resolver {
    const resolver = new Resolver({ timeout: limits.dnsTimeoutMs, tries: limits.dnsTriesMax })
    if (this.#dnsServers.length > 0) resolver.setServers(this.#dnsServers)
    return resolver
  }
}

function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

async function settle(query: Promise<{ address: string; ttl: number }[]>): Promise<FamilyAnswer> {
  try {
    const records = await query
    const addresses = records.map(({ address }) => address).filter((one) => isIP(one) !== 0)
    if (addresses.length === 0) return NONE
    const ttlMs = Math.min(...records.map(({ ttl }) => ttl)) * 1_000
    return { kind: 'addresses', addresses, ttlMs }
  } catch (error) {
    const code = String(Reflect.get(Object(error), 'code'))
    return NO_RECORD_CODES.has(code) ? NONE : { kind: 'failed', reason: code }
  }
}

/** Where DNS does not answer, the system's resolver would hold a thread for as long, and learn no more. */
function mayBeElsewhere(answer: FamilyAnswer): boolean {
  return answer.kind === 'none' || (answer.kind === 'failed' && answer.reason !== 'ETIMEOUT')
}

/** undefined: it knows no more than DNS. */
async function askSystem(name: string): Promise<NameAnswer | undefined> {
  try {
    const found = await systemLookup(name, { all: true })
    return fromList(found.map(({ address }) => address))
  } catch {
    return undefined
  }
}

function fromList(addresses: readonly string[]): NameAnswer {
  return { ipv4: ofFamily(addresses.filter(isIPv4)), ipv6: ofFamily(addresses.filter(isIPv6)) }
}

function ofFamily(addresses: readonly string[]): FamilyAnswer {
  if (addresses.length === 0) return NONE
  return { kind: 'addresses', addresses, ttlMs: limits.localNameTtlMs }
}
