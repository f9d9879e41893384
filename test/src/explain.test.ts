/** What the control plane explains against what a node does, on configurations made by chance. */
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { expect } from 'vitest'
import type { Document } from './harness/api-client.ts'
import { claims } from './harness/claims.ts'
import { cliEnvironment, runCli } from './harness/cli.ts'
import { entryPoint, type Fleet, service, startFleet } from './harness/fleet.ts'
import type { Scope } from './harness/scope.ts'

const { it, suite, before } = claims()
const ROUTERS = 8
const REQUESTS = 40
const NOT_FOUND = '(none)'
const NO_CERTIFICATE = '(no certificate)'
let fleet: Fleet

before(async () => {
  const services: Document[] = []
  for (let index = 0; index < ROUTERS; index += 1) {
    services.push(service(`r${index}`, [await startOrigin(suite, `r${index}`)]))
  }
  const secure = entryPoint('websecure', { protocol: 'https' })
  fleet = await startFleet(suite, { resources: [entryPoint('web'), secure, ...services] })
})

/** Answers every request with its name. */
async function startOrigin(scope: Scope, name: string): Promise<number> {
  const server = createServer((_request, response) => response.end(name))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  scope.defer(() => server.close())
  return (server.address() as AddressInfo).port
}

const HOSTS = ['a.test', 'b.test', '*.test', '*.a.test', 'x.a.test', 'test']
const PREFIXES = ['/', '/api', '/api/', '/api/v2', '/b', '/%41']
const REGEXES = ['/api/.*', '/[ab]', '/item/[0-9]+']
const RANGES = ['127.0.0.1/32', '127.0.0.2/31', '10.0.0.0/8', '127.0.0.0/8']
const ASKED_HOSTS = [
  ...HOSTS.filter((host) => !host.includes('*')),
  'A.Test',
  'y.x.a.test',
  'c.test',
]
const ASKED_PATHS = [
  '/',
  '/api',
  '/api/',
  '/apix',
  '/api/v2/x?y=1',
  '/api/../b',
  '/api//x',
  '/%61pi',
  '/item/12',
  '/..',
  '/a%',
  '/x;/../b',
]

interface Asked {
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly path: string
  readonly method: string
  readonly from: string
}

/** The same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)]!
}

function some<T>(random: () => number, from: readonly T[]): T[] {
  return random() < 0.5 ? [] : from.filter(() => random() < 0.4)
}

function configuration(random: () => number): Document[] {
  const routers = Array.from({ length: ROUTERS }, (_, index) => ({
    kind: 'router',
    name: `r${index}`,
    service: `r${index}`,
    entryPoints: pick(random, [[], [], ['web'], ['websecure'], ['web', 'websecure']]),
    priority: pick(random, [0, 0, 0, 1, -1]),
    match: {
      hosts: some(random, HOSTS),
      pathPrefixes: some(random, PREFIXES),
      pathRegexes: some(random, REGEXES),
      methods: some(random, ['GET', 'POST']),
      clientRanges: some(random, RANGES),
    },
  }))
  const certificates = ['c1', 'c2', 'c3'].map((name) => {
    const hosts = some(random, HOSTS)
    return {
      kind: 'certificate',
      name,
      source: 'internal',
      hosts: hosts.length > 0 ? hosts : ['z.z'],
    }
  })
  const hasDefault = random() < 0.5
  const secure = { protocol: 'https', ...(hasDefault && { defaultCertificate: 'c1' }) }
  return [...certificates, entryPoint('websecure', secure), ...routers]
}

/** The name of the router that took the request, or what happened in place of that; and the certificate's names. */
async function live(asked: Asked): Promise<{ outcome: string; hosts?: string[] }> {
  const isSecure = asked.scheme === 'https'
  const options = {
    host: '127.0.0.1',
    port: fleet.node.port(isSecure ? 'websecure' : 'web'),
    localAddress: asked.from,
    path: asked.path,
    method: asked.method,
    headers: { host: asked.host },
    agent: false as const,
    timeout: 10_000,
  }
  return await new Promise((resolve, reject) => {
    const sent = isSecure
      ? httpsRequest({ ...options, servername: asked.host, rejectUnauthorized: false })
      : httpRequest(options)
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isRefused = isSecure && /alert/i.test(error.message)
      if (isRefused) resolve({ outcome: NO_CERTIFICATE })
      else reject(error)
    })
    sent.on('timeout', () => sent.destroy(new Error('no answer')))
    sent.on('response', (response) => {
      const names = isSecure
        ? (response.socket as TLSSocket).getPeerCertificate().subjectaltname?.split(', ')
        : undefined
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () => {
        const status = response.statusCode ?? 0
        const outcome = status === 200 ? text : status === 404 ? NOT_FOUND : String(status)
        resolve({
          outcome,
          ...(names !== undefined && {
            hosts: names.map((name) => name.replace('DNS:', '')).sort(),
          }),
        })
      })
    })
    sent.end()
  })
}

interface Explanation {
  readonly outcome: string
  readonly router: { readonly name: string } | null
  readonly certificate: { readonly hosts: string[] } | null
}

async function explained(asked: Asked): Promise<{ outcome: string; hosts?: string[] }> {
  const { scheme, host, path, method, from } = asked
  const url = `${scheme}://${host}${path}`
  const body = { url, method, from, node: fleet.node.name }
  const told = await fleet.api.post<Explanation>('/api/v1/explain', body)
  const outcomes: Readonly<Record<string, string>> = {
    'no-certificate': NO_CERTIFICATE,
    'not-found': NOT_FOUND,
    malformed: '400',
  }
  const { certificate } = told
  return {
    outcome: told.router?.name ?? outcomes[told.outcome] ?? told.outcome,
    ...(certificate !== null && { hosts: [...certificate.hosts].sort() }),
  }
}

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
  it(`in configuration ${seed} a node does with every request what is explained`, async () => {
    const random = randomOf(seed)
    await fleet.publish(...configuration(random))
    const seen = new Set<string>()
    for (let turn = 0; turn < REQUESTS; turn += 1) {
      const asked: Asked = {
        scheme: pick(random, ['http', 'http', 'https']),
        host: pick(random, ASKED_HOSTS),
        path: pick(random, ASKED_PATHS),
        method: pick(random, ['GET', 'GET', 'POST', 'PUT']),
        from: pick(random, ['127.0.0.1', '127.0.0.2', '127.0.0.9']),
      }
      const done = await live(asked)
      expect({ asked, ...(await explained(asked)) }).toEqual({ asked, ...done })
      seen.add(done.outcome)
    }
    // Configurations in which nothing is decided would show nothing.
    expect(seen.size).toBeGreaterThan(2)
  })
}

it('the command tells which router takes a request, which nearly do, and why not', async (scope) => {
  const routers = Array.from({ length: ROUTERS }, (_, index) => {
    const match: Record<string, string[]> = { hosts: [index < 4 ? 'shop.test' : 'other.test'] }
    return { kind: 'router', name: `r${index}`, service: `r${index}`, priority: 0, match }
  })
  const [, first, second, third] = routers
  first!.priority = 5
  second!.match.methods = ['POST']
  third!.match.clientRanges = ['192.168.0.0/16']
  await fleet.publish(...routers)
  const words = ['explain', 'http://10.0.0.1/cart', '-H', 'Host: shop.test', '--from', '10.1.1.1']
  const { code, output } = await runCli(scope, words, cliEnvironment(fleet.controlPlane))
  expect({ code, output }).toMatchObject({ code: 0 })
  expect(output).toMatch(/^router "r1" forwards the request to service "r1"$/m)
  expect(output).toMatch(/^entry point {2}web /m)
  expect(output).toMatch(/^server +http:\/\/127\.0\.0\.1:\d+ \(100 %\)$/m)
  expect(output).toMatch(/^r0 +matches too, but router "r1" comes first \(priority 5, here 0\)$/m)
  expect(output).toMatch(/^r2 +method GET is not POST$/m)
  expect(output).toMatch(/^r3 +client 10\.1\.1\.1 is not in 192\.168\.0\.0\/16$/m)
  expect(output).toMatch(/^r4 +host "shop\.test" is not other\.test$/m)
})
