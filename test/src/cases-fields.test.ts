/** Group (f) of the public cases: forwarding fields, fields of the hop, Host, order and case, paths, Location. */
import { expect } from 'vitest'
import { CaseScene } from './harness/case-scene.ts'
import { claims } from './harness/claims.ts'
import { router, service } from './harness/fleet.ts'
import { type Message, statusOf, valuesOf } from './harness/http-text.ts'
import { echoTarget, type OriginRequest, say } from './harness/origins/scripted-origin.ts'
import { freePort } from './harness/ports.ts'
import { exchange } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it, suite, before } = claims()
let scene: CaseScene
let trustingPort: number

before(async () => {
  trustingPort = await freePort()
  const refused = await freePort()
  const trusting = {
    kind: 'entry-point',
    name: 'trusting',
    address: `127.0.0.1:${trustingPort}`,
    protocol: 'http',
    trustedPeers: ['127.0.0.0/8'],
  }
  scene = await CaseScene.start(suite, {
    documents: ([origin]) => [
      trusting,
      router('public', 'p.test', 'a', { match: { hosts: ['p.test'], pathPrefixes: ['/public'] } }),
      service('retried', [refused, origin!.port]),
      router('retried', 'retried.test', 'retried'),
      service('own-host', [origin!.port], { passHost: false }),
      router('own-host', 'own-host.test', 'own-host'),
    ],
  })
})

const get = (path: string, host: string, ...fields: string[]) =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields.map((one) => `${one}\r\n`).join('')}\r\n`

/** The one request that reached the origin. */
async function forwarded(scope: Scope, request: string, port = scene.port): Promise<OriginRequest> {
  scene.origin.answer = echoTarget
  const count = scene.origin.requests.length
  const answer = await exchange(scope, port, request)
  const seen = scene.origin.requests.slice(count)
  expect([statusOf(answer), seen.length]).toEqual([200, 1])
  return seen[0]!
}

/** What a client gets for these bytes of the origin. */
async function answered(scope: Scope, said: string, request = get('/', 'a.test'), end = false) {
  scene.origin.answer = say(said, end ? 'end' : 'stay')
  return exchange(scope, scene.port, request)
}

const names = (message: Pick<Message, 'fields'>) =>
  message.fields.map(([name]) => name.toLowerCase())

const SPOOFED = {
  'X-Forwarded-For': ['X-Forwarded-For: 6.6.6.6'],
  'X-Forwarded-For twice': ['X-Forwarded-For: 6.6.6.6', 'X-Forwarded-For: 7.7.7.7'],
  'an empty X-Forwarded-For': ['X-Forwarded-For:'],
  'a list in X-Forwarded-For': ['X-Forwarded-For: 6.6.6.6, 7.7.7.7'],
  'X-Forwarded-Proto': ['X-Forwarded-Proto: https'],
  'X-Forwarded-Host': ['X-Forwarded-Host: evil.test'],
  'X-Forwarded-Port': ['X-Forwarded-Port: 9999'],
  'X-Forwarded-Prefix': ['X-Forwarded-Prefix: /evil'],
  'X-Real-Ip': ['X-Real-Ip: 6.6.6.6'],
  Forwarded: ['Forwarded: for=6.6.6.6;proto=https;host=evil.test'],
  'names in other cases': [
    'x-FORWARDED-for: 6.6.6.6',
    'x-real-IP: 6.6.6.6',
    'FORWARDED: for=6.6.6.6',
  ],
}
for (const [name, fields] of Object.entries(SPOOFED)) {
  it(`F01: ${name} of an untrusted peer is replaced by what the node knows`, async (scope) => {
    const seen = await forwarded(scope, get('/', 'a.test', ...fields))
    const told = seen.fields.filter(([field]) => /^(x-forwarded|x-real|forwarded)/i.test(field))
    expect(told).toEqual([
      ['X-Forwarded-For', '127.0.0.1'],
      ['X-Forwarded-Proto', 'http'],
      ['X-Forwarded-Host', 'a.test'],
    ])
  })
}

const FROM_TRUSTED: Readonly<Record<string, readonly [fields: string[], list: string]>> = {
  'one line': [['X-Forwarded-For: 6.6.6.6'], '6.6.6.6, 127.0.0.1'],
  'two lines': [
    ['X-Forwarded-For: 6.6.6.6', 'X-Forwarded-For: 7.7.7.7'],
    '6.6.6.6, 7.7.7.7, 127.0.0.1',
  ],
  'an empty line': [['X-Forwarded-For:'], '127.0.0.1'],
  'an IPv6 address': [['X-Forwarded-For: 2001:db8::1'], '2001:db8::1, 127.0.0.1'],
  garbage: [['X-Forwarded-For: not-an-address'], 'not-an-address, 127.0.0.1'],
}
for (const [name, [fields, list]] of Object.entries(FROM_TRUSTED)) {
  it(`F01: ${name} of a trusted peer is kept, and the peer appended`, async (scope) => {
    const seen = await forwarded(scope, get('/', 'a.test', ...fields), trustingPort)
    expect(valuesOf(seen, 'x-forwarded-for')).toEqual([list])
  })
}

it('F01: Forwarded of a trusted peer is extended, with brackets and quotes for IPv6', async (scope) => {
  const said = 'Forwarded: for="[2001:db8::1]"'
  const seen = await forwarded(scope, get('/', 'a.test', said), trustingPort)
  expect(valuesOf(seen, 'forwarded').join()).toMatch(/^for="\[2001:db8::1\]", ?for=127\.0\.0\.1;/)
})

const post = (...connection: string[]) =>
  `POST / HTTP/1.1\r\nHost: a.test\r\n${connection.map((one) => `${one}\r\n`).join('')}` +
  'Authorization: Basic YTpi\r\nX-Custom: 1\r\nContent-Length: 5\r\n\r\nhello'

it('F02: Host, framing, credentials and what the node says itself cannot be named away', async (scope) => {
  const named = 'X-Forwarded-For, X-Real-Ip, Authorization, Host, Content-Length, x-forwarded-host'
  const seen = await forwarded(scope, post(`Connection: close, ${named}`))
  expect([
    valuesOf(seen, 'host'),
    valuesOf(seen, 'authorization'),
    valuesOf(seen, 'x-forwarded-for'),
    valuesOf(seen, 'x-forwarded-host'),
    seen.body.toString(),
  ]).toEqual([['a.test'], ['Basic YTpi'], ['127.0.0.1'], ['a.test'], 'hello'])
})

const NAMING = [
  ['Connection: X-Custom'],
  ['CONNECTION: X-CUSTOM'],
  ['connection: keep-alive , x-cUSTOM'],
  ['Connection: keep-alive', 'Connection: x-custom'],
]
for (const lines of NAMING) {
  it(`F02: a field named by "${lines.join('", "')}" is removed`, async (scope) => {
    const seen = await forwarded(scope, post(...lines))
    expect(names(seen)).not.toContain('x-custom')
    expect(valuesOf(seen, 'connection').join().toLowerCase()).not.toContain('x-custom')
  })
}

const HOP = {
  'Keep-Alive': 'timeout=5',
  'Proxy-Connection': 'keep-alive',
  'Proxy-Authenticate': 'Basic realm=x',
  'Proxy-Authorization': 'Basic YTpi',
  TE: 'trailers, deflate',
  Upgrade: 'foo/2',
}
for (const [name, value] of Object.entries(HOP)) {
  it(`F04: ${name} of a request ends at the node`, async (scope) => {
    const seen = await forwarded(scope, get('/', 'a.test', `${name}: ${value}`))
    expect(valuesOf(seen, name.toLowerCase())).toEqual(name === 'TE' ? ['trailers'] : [])
  })
}

it('F04: an option "upgrade" without an Upgrade is removed', async (scope) => {
  const seen = await forwarded(scope, get('/', 'a.test', 'Connection: upgrade'))
  expect(names(seen)).not.toContain('connection')
})

const HOP_LINES = Object.entries(HOP).map(([name, value]) => `${name}: ${value}\r\n`)
const ANSWERS: Readonly<Record<string, readonly [said: string, end: boolean, host: string]>> = {
  'with a length': ['200 OK\r\nLINESContent-Length: 2\r\n\r\nok', false, 'a.test'],
  'in chunks': [
    '200 OK\r\nLINESTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    false,
    'a.test',
  ],
  'that ends with its connection': ['200 OK\r\nLINES\r\nok', true, 'a.test'],
  'that is an error': ['503 Busy\r\nLINESContent-Length: 2\r\n\r\nok', false, 'a.test'],
  'after another server': ['200 OK\r\nLINESContent-Length: 2\r\n\r\nok', false, 'retried.test'],
}
for (const [name, [said, end, host]] of Object.entries(ANSWERS)) {
  it(`F04: fields of the hop are removed from an answer ${name}`, async (scope) => {
    const bytes = `HTTP/1.1 ${said.replace('LINES', HOP_LINES.join(''))}`
    const answer = await answered(scope, bytes, get('/', host), end)
    expect(answer.body.toString()).toBe('ok')
    for (const gone of Object.keys(HOP)) expect(names(answer)).not.toContain(gone.toLowerCase())
    await scene.expectNoDesync(scope)
  })
}

for (const host of ['A.test', 'a.test:8080', 'a.test.', 'a.test.:8080', 'A.TEST:8080']) {
  it(`F05: Host ${host} is routed to a.test and reaches the origin as it was sent`, async (scope) => {
    const seen = await forwarded(scope, get('/', host))
    expect(valuesOf(seen, 'host')).toEqual([host])
  })
}

it('F05: with passHost off the origin gets its own authority', async (scope) => {
  const seen = await forwarded(scope, get('/', 'own-host.test'))
  expect(valuesOf(seen, 'host')).toEqual([`127.0.0.1:${scene.origin.port}`])
})

it('F05: HTTP/1.0 without Host goes to no host', async (scope) => {
  const count = scene.origin.requests.length
  expect(statusOf(await exchange(scope, scene.port, 'GET / HTTP/1.0\r\n\r\n'))).toBe(404)
  expect(scene.origin.requests.length).toBe(count)
})

it('F06: fields of an answer keep their lines, order, case and values', async (scope) => {
  const lines = [
    ['Set-Cookie', 'a=1; Expires=Wed, 09 Jun 2032 10:18:14 GMT; Path=/'],
    ['set-cookie', 'b=2; HttpOnly'],
    ['SET-cookie', 'c=3, d'],
    ['WWW-Authenticate', 'Basic realm="a"'],
    ['WWW-Authenticate', 'Bearer x="1", y="2"'],
    ['Vary', 'Accept'],
    ['Vary', 'Origin'],
    ['x-ODD-nAme', 'Kept'],
  ]
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const answer = await answered(scope, `HTTP/1.1 401 No\r\n${text}Content-Length: 2\r\n\r\nok`)
  expect(answer.fields).toEqual([...lines, ['Content-Length', '2']])
})

it('F06: fields of a request keep their lines, order, case and values', async (scope) => {
  const fields = [
    'x-ODD-case: Kept',
    'X-Multi: 1',
    'X-Other: o',
    'X-Multi: 2, 3',
    'Cookie: a=1, x; b=2',
  ]
  const seen = await forwarded(scope, get('/', 'a.test', ...fields))
  const mine = seen.fields.filter(([name]) => /^(x-(odd|multi|other)|cookie)/i.test(name))
  expect(mine.map(([name, value]) => `${name}: ${value}`)).toEqual(fields)
})

const PATHS = [
  '/a%2Fb',
  '/a%2fb',
  '/a%3Fb?c',
  '/a%25b',
  '/a%252Fb',
  '/caf%C3%A9',
  '/%FF',
  '/a%20b+c',
  '/a;b=c',
  '/[x]',
  '/a|b',
  '/$x',
  '/~x',
  '/a//b',
  '/a/?',
  '/a?b?c=d&&e=%2F',
]
for (const path of PATHS) {
  it(`F07: ${path} reaches the origin byte for byte, behind a prefix and a failed server too`, async (scope) => {
    const targets = [
      (await forwarded(scope, get(path, 'a.test'))).target,
      (await forwarded(scope, get(`/public${path}`, 'p.test'))).target,
      (await forwarded(scope, get(path, 'retried.test'))).target,
      (await forwarded(scope, get(path, 'retried.test'))).target,
    ]
    expect(targets).toEqual([path, `/public${path}`, path, path])
  })
}

/** Requests to a host that has a router for /public alone: what reaches the origin, or the refusal. */
const TRAVERSAL: Readonly<Record<string, string | number>> = {
  '/public/x': '/public/x',
  '/admin/x': 404,
  '/public/../admin/x': 404,
  '/public/%2e%2e/admin/x': 404,
  '/public/%2E%2e/admin/x': 404,
  '/public/.%2e/admin/x': 404,
  '/./admin': 404,
  '//admin': 404,
  '/ADMIN/x': 404,
  '/%61dmin/x': 404,
  '/admin/../public/x': '/public/x',
  '/%70ublic/x': '/%70ublic/x',
  '/public/./y/%2e%2e/x': '/public/x',
  '/public/%252e%252e/admin': '/public/%252e%252e/admin',
  '/public/..%2fadmin/x': 400,
  '/public/%2e%2e%2fadmin': 400,
  '/public/..;/admin': 400,
  '/public/..;x=1/admin': 400,
  '/public/..\\admin': 400,
  '/public/..%5cadmin': 400,
  '/public/../../admin/x': 400,
  '/public/%00': 400,
}
for (const [path, outcome] of Object.entries(TRAVERSAL)) {
  it(`F08: ${path} ${typeof outcome === 'string' ? `is forwarded as ${outcome}` : `gets ${outcome}`}`, async (scope) => {
    if (typeof outcome === 'string') {
      expect((await forwarded(scope, get(path, 'p.test'))).target).toBe(outcome)
      return
    }
    const count = scene.origin.requests.length
    expect(statusOf(await exchange(scope, scene.port, get(path, 'p.test')))).toBe(outcome)
    expect(scene.origin.requests.length).toBe(count)
    await scene.expectNoDesync(scope)
  })
}

const LOCATIONS = [
  'http://o1:8080/x',
  'https://a.test/x',
  '/x',
  'x',
  '//evil.test/',
  '/x?u=%0d%0a&y',
]
for (const location of LOCATIONS) {
  it(`F11: Location ${location} of the origin is not touched`, async (scope) => {
    const said = `HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`
    const answer = await answered(scope, said)
    expect([statusOf(answer), valuesOf(answer, 'location')]).toEqual([302, [location]])
  })
}
