/** Whether all proxies did the same work, as who they claim to be. */
import {
  type Artifacts,
  countedRuns,
  type ParityRecord,
  type TlsRecord,
} from '../artifacts/records.ts'
import {
  type Complaint,
  type HonestyTest,
  isOfProxy,
  medianOf,
  type Observation,
  percent,
  worstOf,
} from './honesty-test.ts'

/** What each proxy is configured to tell the origin. */
const FORWARDED = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']
const UPSTREAM_CONNECTIONS_MAX = 100
const TREE_SHARE_MAX = 1.02
const DELAY_SHARE_LOW = 0.02
const VOLUNTARY_PER_REQUEST_HIGH = 4

export const workIsEqual: HonestyTest = {
  number: 11,
  name: 'all do equal work',
  look: ({ parity }) => parity.proxies.flatMap((one) => unequal(one)),
}

function unequal(one: ParityRecord): Observation[] {
  const { proxy } = one
  const texts: string[] = []
  const added = one.requestFieldsAdded.map((field) => field.toLowerCase())
  const missing = FORWARDED.filter((field) => !added.includes(field))
  if (missing.length > 0) texts.push(`adds no ${missing.join(', ')}`)
  const extra = added.filter((field) => !FORWARDED.includes(field))
  if (extra.length > 0) texts.push(`adds ${extra.join(', ')} to requests`)
  if (one.requestFieldsRemoved.length > 0)
    texts.push(`removes ${one.requestFieldsRemoved.join(', ')} from requests`)
  if (one.responseFieldsAdded.length > 0)
    texts.push(`adds ${one.responseFieldsAdded.join(', ')} to answers`)
  if (one.responseFieldsRemoved.length > 0)
    texts.push(`removes ${one.responseFieldsRemoved.join(', ')} from answers`)
  if ((one.upstreamConnectionsPer1000 ?? 0) > UPSTREAM_CONNECTIONS_MAX) {
    texts.push(
      `opens ${one.upstreamConnectionsPer1000} connections to the origin per 1,000 requests`,
    )
  }
  if ((one.hitsWithoutLoad ?? 0) > 0)
    texts.push(`asks the origin without any client (health checks)`)
  if (one.log !== 'none') texts.push(one.log === 'sampled' ? 'logs a sample' : 'logs every request')
  return texts.map((text) => ({ action: 'note', proxy, text: `${proxy} ${text}` }))
}

export const tlsIsEqual: HonestyTest = {
  number: 12,
  name: 'TLS is the same everywhere',
  look: ({ plan, parity }) => {
    const reference = parity.proxies.find(({ proxy }) => proxy === plan.reference)?.tls ?? null
    return parity.proxies.flatMap(({ proxy, tls }): Observation[] => {
      if (tls === null) return []
      const found: Observation[] = []
      if (!tls.isResumed) {
        const text = `${proxy} did not resume TLS sessions: its new connections are full handshakes`
        found.push({ action: 'note', proxy, text })
      }
      if (reference === null) return found
      const action = tls.fingerprint === reference.fingerprint ? 'note' : 'fail'
      const texts = differences(tls, reference)
      if (texts.length > 0)
        found.push({ action, proxy, text: `${proxy} differs in TLS: ${texts.join(', ')}` })
      return found
    })
  },
}

function differences(tls: TlsRecord, reference: TlsRecord): string[] {
  const facts = ['version', 'cipher', 'group', 'fingerprint'] as const
  return facts
    .filter((fact) => tls[fact] !== reference[fact])
    .map((fact) => `${fact} ${tls[fact]} instead of ${reference[fact]}`)
}

export const processorIsEqual: HonestyTest = {
  number: 15,
  name: 'all have the same CPUs',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        if (run.cpu === null || !isOfProxy(run)) return []
        const { proxyCpus } = artifacts.environment
        const outside = run.cpu.allowed.filter((list) => !isWithin(list, proxyCpus))
        if (outside.length > 0) {
          const text = `${run.proxy} has tasks that may run on CPUs ${outside.join(' ')}, not only on ${proxyCpus}`
          return [{ run, size: 100, action: 'fail', text }]
        }
        const share = run.cpu.run_ns / run.cpu.elapsed_ns / cpusOf(proxyCpus).length
        if (share <= TREE_SHARE_MAX) return []
        const text = `${run.proxy} used ${percent(share)} of its CPUs in ${run.scenario}`
        return [{ run, size: share, action: 'fail', text }]
      }),
    ),
}

/** `0`, `0-2`, `0,2` as the kernel and taskset write them. */
export function cpusOf(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}

function isWithin(list: string, allowed: string): boolean {
  const known = new Set(cpusOf(allowed))
  return cpusOf(list).every((cpu) => known.has(cpu))
}

export const theRightProcessListens: HonestyTest = {
  number: 16,
  name: 'the process that was started is the one that answers',
  look: (artifacts) =>
    worstOf(
      countedRuns(artifacts).flatMap((run): Complaint[] => {
        if (run.witness.length > 0) {
          const text = `${run.scenario}, round ${run.round + 1}: ${run.witness.join('; ')}`
          return [{ run, size: 1, action: 'fail', text }]
        }
        const known = artifacts.parity.proxies.find(({ proxy }) => proxy === run.proxy)?.version
        if (known === undefined || known === run.version || !isOfProxy(run)) return []
        const text = `${run.proxy} said it is ${run.version} in ${run.scenario} and ${known} before`
        return [{ run, size: 1, action: 'fail', text }]
      }),
    ),
}

export const backlogsAreEqual: HonestyTest = {
  number: 23,
  name: 'accept queues are equally long',
  look: ({ parity }) => {
    const known = parity.proxies.flatMap(({ proxy, backlog }) =>
      backlog === null ? [] : [{ proxy, backlog }],
    )
    if (new Set(known.map(({ backlog }) => backlog)).size <= 1) return []
    const list = known.map(({ proxy, backlog }) => `${proxy} ${backlog}`).join(', ')
    return [{ action: 'note', text: `accept queues differ: ${list}` }]
  },
}

export const buildsAreReleases: HonestyTest = {
  number: 24,
  name: 'all are release builds',
  look: ({ parity }) =>
    parity.proxies.flatMap(({ proxy, debug }) =>
      debug.map((reason) => ({
        action: 'no-rank' as const,
        proxy,
        text: `${proxy} is no release build: ${reason}`,
      })),
    ),
}

export const configurationsAreShown: HonestyTest = {
  number: 25,
  name: 'no configuration is tuned for one alone',
  look: ({ plan, parity }) => {
    const bare: Observation[] = parity.proxies
      .filter(
        ({ configuration, configurationSha256 }) =>
          configuration === '' || configurationSha256 === '',
      )
      .map(({ proxy }) => ({
        action: 'no-rank',
        proxy,
        text: `${proxy}'s configuration is not in the record`,
      }))
    if (plan.isStock) return bare
    const counts = parity.proxies
      .filter(({ proxy }) => proxy !== plan.subject)
      .map(({ knobs }) => knobs.length)
    const own = parity.proxies.find(({ proxy }) => proxy === plan.subject)
    if (own === undefined || counts.length === 0 || own.knobs.length <= medianOf(counts) + 2)
      return bare
    const text = `${own.proxy} has ${own.knobs.length} settings of its own (${own.knobs.join(', ')}), the others ${medianOf(counts)} in the middle`
    return [...bare, { action: 'note', proxy: own.proxy, text }]
  },
}

export const logsDoNotBlock: HonestyTest = {
  number: 28,
  name: 'an access log does not block its proxy',
  look: (artifacts) => {
    const piped: Observation[] = artifacts.parity.proxies
      .filter(({ log }) => log === 'pipe')
      .map(({ proxy }) => ({
        action: 'no-rank',
        proxy,
        text: `${proxy} logs into a pipe, which can block it`,
      }))
    return [...piped, ...worstOf(waiting(artifacts))]
  },
}

function waiting(artifacts: Artifacts): Complaint[] {
  const logging = new Set(
    artifacts.parity.proxies.filter(({ log }) => log === 'file').map(({ proxy }) => proxy),
  )
  return countedRuns(artifacts).flatMap((run): Complaint[] => {
    if (run.cpu === null || !logging.has(run.proxy) || run.ok === 0) return []
    const delay = run.cpu.delay_ns / (run.cpu.run_ns + run.cpu.delay_ns || 1)
    const perRequest = run.cpu.voluntary / run.ok
    if (delay > DELAY_SHARE_LOW || perRequest < VOLUNTARY_PER_REQUEST_HIGH) return []
    const text = `${run.proxy} waited ${perRequest.toFixed(1)} times per request in ${run.scenario} with its log on`
    return [{ run, size: perRequest, action: 'note', text }]
  })
}
