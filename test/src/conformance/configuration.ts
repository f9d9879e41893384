/** What the nodes under the harness are configured with. Its origins listen at base + 1 to base + 3. */
import type { Document } from '../harness/api-client.ts'
import { router, service } from '../harness/fleet.ts'
import type { Issued } from '../harness/test-ca.ts'

/** Answers of these services are due within a time that the harness waits for. */
export const RESPONSE_MS = 1_000
export const QUEUE_MS = 2_000
export const CONNECT_MS = 1_000
export const POOL = { connections: 10, idle: 4 }
export const HEALTH = { intervalMs: 200, timeoutMs: 150, fall: 2, rise: 2 }
export const SLOW_START = { windowMs: 3_000, intervalMs: 200 }
/** Trusted for forwarding fields. */
export const TRUSTED = '127.0.0.2'

export interface Ports {
  readonly http: number
  readonly https: number
}

function onBase(base: number, ...numbers: readonly number[]): number[] {
  return numbers.map((number) => base + number)
}

export function entryPoints({ http, https }: Ports, { chainPem, privateKeyPem }: Issued) {
  const trustedPeers = [`${TRUSTED}/32`]
  const documents: Document[] = [
    point('web', http, { protocol: 'http', trustedPeers }),
    point('web-tls', https, { protocol: 'https', trustedPeers, defaultCertificate: 'both' }),
    { kind: 'certificate', name: 'both', source: 'uploaded', chainPem, privateKeyPem },
  ]
  return documents
}

export function point(name: string, port: number, fields: Document): Document {
  return { kind: 'entry-point', name, address: `127.0.0.1:${port}`, ...fields }
}

/** a.test goes to O1 and O2, b.test to O3. */
export function usualRoutes(base: number): Document[] {
  return [
    service('a', onBase(base, 1, 2)),
    service('b', onBase(base, 3)),
    router('a', 'a.test', 'a'),
    router('b', 'b.test', 'b'),
  ]
}

/** Hosts for the cases that need a service of a special kind. */
export function specialRoutes(base: number): Document[] {
  const [o1 = 0, o2 = 0, o3 = 0] = onBase(base, 1, 2, 3)
  const hole = { timeouts: { connectMs: CONNECT_MS } }
  const slow = { timeouts: { firstByteMs: RESPONSE_MS, idleMs: RESPONSE_MS } }
  const single = { connectionsMax: 1, timeouts: { queueMs: QUEUE_MS } }
  return [
    ...host('rt.test', service('rt', [o3], slow)),
    ...host('lc.test', service('lc', [o1, o2], single)),
    ...host('three.test', service('three', [o1, o2, o3])),
    ...host('nohost.test', service('nohost', [o3], { passHost: false })),
    ...host('p.test', service('p', [o3]), { pathPrefixes: ['/public'] }),
    ...host('hole.test', service('hole', [base + 7], hole)),
    ...host('half.test', service('half', [base + 7, o3], hole)),
    ...host('dns.test', named('dns', `svc.test:${base + 5}`)),
    ...host('dual.test', named('dual', `dual.svc.test:${base + 6}`)),
    ...host('v6.test', named('v6', `[::1]:${base + 8}`)),
  ]
}

/** Services whose servers are probed: no other case may have its origins asked by anyone else. */
export function checkedRoutes(base: number): Document[] {
  const [o1 = 0, o2 = 0, o3 = 0, o4 = 0] = onBase(base, 1, 2, 3, 9)
  const { intervalMs, timeoutMs, fall, rise } = HEALTH
  const times = { intervalMs, timeoutMs, unhealthyAfter: fall, healthyAfter: rise }
  const at = (path: string) => ({ healthCheck: { path, ...times } })
  const once = { path: '/hc', intervalMs: SLOW_START.intervalMs, unhealthyAfter: 1 }
  const slow = { healthCheck: once, slowStartMs: SLOW_START.windowMs }
  return [
    ...host('hc.test', service('hc', [o1, o2], at('/hc'))),
    ...host('hcok.test', service('hcok', [o1], at('/ok'))),
    ...host('hcbad.test', service('hcbad', [o1], at('/bad'))),
    ...host('hc3.test', service('hc3', [o1, o2, o3], at('/hc'))),
    ...host('hc4.test', service('hc4', [o1, o2, o3, o4], at('/hc'))),
    ...host('ss.test', service('ss', [o1, o2, o3], slow)),
  ]
}

function host(name: string, to: Document, match: Document = {}): Document[] {
  const serviceName = String(to.name)
  return [to, router(serviceName, name, serviceName, { match: { hosts: [name], ...match } })]
}

function named(name: string, authority: string): Document {
  return service(name, [], { servers: [{ url: `http://${authority}` }] })
}

/** Two entry points before O3: one that keeps few connections, one that keeps none. */
export function poolDocuments(base: number, kept: number, fresh: number): Document[] {
  const [o3 = 0] = onBase(base, 3)
  const bounds = { connectionsMax: POOL.connections, queueMax: 20, timeouts: { queueMs: QUEUE_MS } }
  return [
    point('kept', kept, { protocol: 'http' }),
    point('fresh', fresh, { protocol: 'http' }),
    service('kept', [o3], { ...bounds, idleConnectionsMax: POOL.idle }),
    service('fresh', [o3], { idleConnectionsMax: 0 }),
    router('kept', 'a.test', 'kept', { entryPoints: ['kept'] }),
    router('fresh', 'a.test', 'fresh', { entryPoints: ['fresh'] }),
  ]
}

/** Every host goes to O3. */
export function catchAll(base: number, ...points: readonly Document[]): Document[] {
  return [
    ...points,
    service('all', onBase(base, 3)),
    { kind: 'router', name: 'all', service: 'all' },
  ]
}
