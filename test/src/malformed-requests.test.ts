/**
 * Requests that two parties could read in two ways. Each is refused, no byte of it reaches an origin, and
 * whoever shares the connections afterwards notices nothing.
 */
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { expectNoDesync } from './harness/desync.ts'
import { type Fleet, startFleet } from './harness/fleet.ts'
import { chunked, statusOf, valuesOf } from './harness/http-text.ts'
import { echoTarget, ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { exchange, get, RawClient } from './harness/raw-client.ts'
import { routeTo } from './harness/routes.ts'
import type { Scope } from './harness/scope.ts'

const { it, suite, before } = claims()
let fleet: Fleet
let origin: ScriptedOrigin
let host: string
let port: number

before(async () => {
  fleet = await startFleet(suite)
  origin = await ScriptedOrigin.start(suite)
  host = await routeTo(fleet, [origin.port])
  port = fleet.node.port()
})

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: HOST\r\n\r\n'
const CANARY = 'GET /canary HTTP/1.1\r\nHost: HOST\r\n\r\n'
const TE = 'Transfer-Encoding'
const CL = 'Content-Length'

function post(fields: readonly string[], body: string): string {
  return `POST /bad HTTP/1.1\r\nHost: HOST\r\n${fields.map((one) => `${one}\r\n`).join('')}\r\n${body}`
}

function withField(line: string): string {
  return `GET /bad HTTP/1.1\r\nHost: HOST\r\n${line}\r\n\r\n`
}

type Table = Readonly<Record<string, string>>

/** A head that is refused: 400 (or what else is named), the end, nothing at the origin. */
async function expectRefused(scope: Scope, bytes: string, statuses = [400]): Promise<void> {
  const before = origin.requests.length
  const connections = origin.connections.length
  const received = origin.received.length
  const client = await RawClient.open(scope, port)
  client.send(bytes.replaceAll('HOST', host))
  const answer = await client.answer()
  expect(statuses).toContain(statusOf(answer))
  expect(valuesOf(answer, 'connection')).toEqual(['close'])
  await client.untilEnded()
  expect(client.text.slice(answer.bytes.length)).toBe('')
  expect([origin.requests.length, origin.connections.length, origin.received.length]).toEqual([
    before,
    connections,
    received,
  ])
  await expectNoDesync(scope, port, host, origin)
}

function refuses(group: string, table: Table, statuses = [400]): void {
  for (const [name, bytes] of Object.entries(table)) {
    it(`${group}: ${name} is refused and no byte of it forwarded`, (scope) =>
      expectRefused(scope, bytes, statuses))
  }
}

refuses('two framings', {
  'a length and chunks': post([`${CL}: 6`, `${TE}: chunked`], `0\r\n\r\nX${CANARY}`),
  'chunks and a length': post([`${TE}: chunked`, `${CL}: 6`], `0\r\n\r\nX${CANARY}`),
  'length 0 and a chunk': post([`${CL}: 0`, `${TE}: chunked`], chunked(SMUGGLED, 999)),
  'a length and gzip': post([`${CL}: 5`, `${TE}: gzip`], '0\r\n\r\n'),
})

const CODINGS = {
  'chunked twice in a line': 'chunked, chunked',
  'chunked before identity': 'chunked, identity',
  'chunked before gzip': 'chunked, gzip',
  'gzip alone': 'gzip',
  xchunked: 'xchunked',
  'quoted chunked': '"chunked"',
  'vertical tab before chunked': '\x0bchunked',
  'no-break space before chunked': '\xa0chunked',
  'an empty value': '',
  'an empty element before chunked': ',chunked',
  'an empty element after chunked': 'chunked,',
  'gzip before chunked': 'gzip, chunked',
}
refuses(
  'transfer coding',
  {
    ...Object.fromEntries(
      Object.entries(CODINGS).map(([name, value]) => [
        name,
        post([`${TE}: ${value}`], '0\r\n\r\n'),
      ]),
    ),
    'chunked on two lines': post([`${TE}: chunked`, `${TE}: chunked`], '0\r\n\r\n'),
  },
  [400, 501],
)

const LENGTHS = {
  'an empty value': '',
  'a plus sign': '+5',
  'a minus sign': '-1',
  hexadecimal: '0x5',
  'an underscore': '5_0',
  'two numbers': '5 6',
  'a semicolon': '5;',
  'more than 64 bits': '18446744073709551621',
  'different values in a list': '5, 6',
}
refuses('content length', {
  ...Object.fromEntries(
    Object.entries(LENGTHS).map(([name, value]) => [name, post([`${CL}: ${value}`], 'hello')]),
  ),
  'different values on two lines': post([`${CL}: 5`, `${CL}: 6`], 'hello'),
  'an empty line before a value': post([`${CL}:`, `${CL}: 59`], 'hello'),
})

refuses('line ends', {
  'bare LF everywhere': 'GET /bad HTTP/1.1\nHost: HOST\nX: 1\n\n',
  'one bare LF': 'GET /bad HTTP/1.1\r\nHost: HOST\nX: 1\r\n\r\n',
  'a head that ends in LF LF': `GET /bad HTTP/1.1\r\nHost: HOST\r\nX:\n\n${SMUGGLED}`,
  'a bare CR in a value': withField('X: a\rY: b'),
})

refuses('fields', {
  'space before the colon': post([`${TE} : chunked`], '0\r\n\r\n'),
  'tab before the colon': post([`${CL}\t: 5`], 'hello'),
  'space before the first field': `GET /bad HTTP/1.1\r\n Host: HOST\r\n\r\n`,
  'a folded length': post([`${CL}:\r\n 5`], 'hello'),
  'a folded field': withField(`X-A: b\r\n\t${TE}: chunked`),
  'a length on a line of its own': post([`${CL}:`, '6'], 'hello!'),
  'an empty name': withField(': v'),
  'a line without a colon': withField('NoColonHere'),
  'a length without a colon': post([`${CL} 5`], 'hello'),
  'a name with a space': withField('Bad Name: v'),
  'a name with a bracket': withField('X(: v'),
  'a name outside ASCII': withField('X\x85: v'),
  'NUL in a name': withField('X\0: v'),
  'NUL in a value': withField('X: a\0b'),
  'NUL in Host': 'GET /bad HTTP/1.1\r\nHost: HOST\0.evil.test\r\n\r\n',
})

const HOSTS = {
  'an empty one': '',
  'a list': 'HOST, b.test',
  'port 70000': 'HOST:70000',
  'port 0': 'HOST:0',
  'two ports': 'HOST:80:90',
  'a path': 'HOST/x',
  'a space': 'a test',
  'a lone dot': '.',
  'user information': 'user@HOST',
  'an open bracket': '[::1',
}
refuses('Host', {
  ...Object.fromEntries(
    Object.entries(HOSTS).map(([name, value]) => [
      name,
      `GET /bad HTTP/1.1\r\nHost: ${value}\r\n\r\n`,
    ]),
  ),
  'none at all': 'GET /bad HTTP/1.1\r\n\r\n',
  'the same twice': 'GET /bad HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n',
  'two different ones': 'GET /bad HTTP/1.1\r\nHost: HOST\r\nHost: b.test\r\n\r\n',
})

const TARGETS = {
  'GET *': 'GET * HTTP/1.1',
  'OPTIONS */x': 'OPTIONS */x HTTP/1.1',
  'a target without a slash': 'GET admin HTTP/1.1',
  'a path without a slash': 'GET admin/a HTTP/1.1',
  'an authority': 'GET a.test:80 HTTP/1.1',
  'a fragment': 'GET /a#frag HTTP/1.1',
  'a control byte': 'GET /\x02 HTTP/1.1',
  'a space in the target': 'GET / / HTTP/1.1',
  'a lone percent sign': 'GET /% HTTP/1.1',
  'half an escape': 'GET /%1 HTTP/1.1',
  'version 1.32': 'GET / HTTP/1.32',
  'version 2.0': 'GET / HTTP/2.0',
  'no version': 'GET /',
  'a method that is no token': 'G=ET / HTTP/1.1',
  'CONNECT with a path': 'CONNECT / HTTP/1.1',
  'CONNECT with an authority': 'CONNECT a.test:80 HTTP/1.1',
}
refuses(
  'request line',
  Object.fromEntries(
    Object.entries(TARGETS).map(([name, line]) => [name, `${line}\r\nHost: HOST\r\n\r\n`]),
  ),
  [400, 405, 501, 505],
)

const BODIES = {
  'a size line that ends in LF': '5\nhello\r\n0\r\n\r\n',
  'a chunk that ends in LF': '5\r\nhello\n0\r\n\r\n',
  'an LF in a chunk extension': '5;a\n=b\r\nhello\r\n0\r\n\r\n',
  'a last chunk that ends in LF': '5\r\nhello\r\n0\n\n',
  'size 0x5': '0x5\r\nhello\r\n0\r\n\r\n',
  'size +5': '+5\r\nhello\r\n0\r\n\r\n',
  'size -5': '-5\r\nhello\r\n0\r\n\r\n',
  'size 5_': '5_\r\nhello\r\n0\r\n\r\n',
  'a space before the size': ' 5\r\nhello\r\n0\r\n\r\n',
  'an empty size': '\r\nhello\r\n0\r\n\r\n',
  'a size that is only an extension': ';x\r\nhello\r\n0\r\n\r\n',
  'size 5g': '5g\r\nhello\r\n0\r\n\r\n',
  'a size of 4096 zeros and a 5': `${'0'.repeat(4096)}5\r\nhello\r\n0\r\n\r\n`,
  'a size of 2^64 and 5': '10000000000000005\r\nhello\r\n0\r\n\r\n',
  'a size of 2^64 less 1': 'FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n',
}
for (const [name, body] of Object.entries(BODIES)) {
  it(`chunks: ${name} ends the exchange, and the origin never gets a whole request`, async (scope) => {
    const before = origin.requests.length
    const client = await RawClient.open(scope, port)
    client.send(post([`${TE}: chunked`], body).replaceAll('HOST', host))
    expect(statusOf(await client.answer())).toBe(400)
    await client.untilEnded()
    expect(origin.requests.slice(before)).toEqual([])
    await expectNoDesync(scope, port, host, origin)
    // The connection that carried the half request is gone, and nothing else was sent on it.
    expect(origin.connections.filter((one) => isHalfRequest(one.record.bytes.toString()))).toEqual(
      [],
    )
    for (const one of origin.connections) {
      if (one.record.bytes.toString().includes('POST /bad')) expect(one.isClosed).toBe(true)
    }
  })
}

function isHalfRequest(text: string): boolean {
  return /POST \/bad[\s\S]*GET \/canary/.test(text)
}

const ACCEPTED: Readonly<Record<string, readonly [bytes: string, body: string]>> = {
  'a tab after chunked': [post([`${TE}: chunked\t`], chunked('hello')), 'hello'],
  'spaces around chunked': [post([`${TE}:  chunked `], chunked('hello')), 'hello'],
  'CHUNKED in capitals': [post([`${TE}: CHUNKED`], chunked('hello')), 'hello'],
  'chunk extensions': [post([`${TE}: chunked`], '5;a=b\r\nhello\r\n0;c\r\n\r\n'), 'hello'],
  'sizes in either case': [
    post([`${TE}: chunked`], `A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n`),
    '01234567890123456789',
  ],
  'an empty line before the request': [`\r\n${post([`${CL}: 5`], 'hello')}`, 'hello'],
  'Host in capitals': [post([`${CL}: 2`], 'ok').replace('HOST', 'CAPITALS'), 'ok'],
  'Host with an empty port': [post([`${CL}: 2`], 'ok').replace('HOST', 'HOST:'), 'ok'],
}
for (const [name, [bytes, body]] of Object.entries(ACCEPTED)) {
  it(`${name} is accepted, and written anew for the origin`, async (scope) => {
    const before = origin.requests.length
    const request = bytes.replace('CAPITALS', host.toUpperCase()).replaceAll('HOST', host)
    expect(statusOf(await exchange(scope, port, request))).toBe(200)
    const [seen] = origin.requests.slice(before)
    expect(seen?.body.toString()).toBe(body)
    const framing = [...valuesOf(seen!, 'transfer-encoding'), ...valuesOf(seen!, 'content-length')]
    expect(framing).toEqual([seen?.framing === 'chunked' ? 'chunked' : String(body.length)])
  })
}

it('OPTIONS * is accepted', async (scope) => {
  const answer = await exchange(scope, port, `OPTIONS * HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  expect(statusOf(answer)).toBe(200)
})

it('a valid request before a malformed one is answered in full, then comes 400 and the end', async (scope) => {
  const client = await RawClient.open(scope, port)
  client.send(`${get(host, '/1')}INVALID\r\n\r\n`)
  expect((await client.answer()).body.toString()).toBe('/1')
  expect(statusOf(await client.answer())).toBe(400)
  await client.untilEnded()
  await expectNoDesync(scope, port, host, origin)
})

it('the body of a request that the node answers itself is never read as a request', async (scope) => {
  const smuggled = `GET /smuggled HTTP/1.1\r\nHost: ${host}\r\n\r\n`
  const head = `GET /2 HTTP/1.1\r\nHost: nobody.test\r\nContent-Length: ${smuggled.length}\r\n\r\n`
  const client = await RawClient.open(scope, port)
  client.send(head + smuggled)
  expect(statusOf(await client.answer())).toBe(404)
  await expectNoDesync(scope, port, host, origin)
  expect(client.text).not.toContain('/smuggled')
})

it('a long body that nobody wants is drained or the connection is closed', async (scope) => {
  const client = await RawClient.open(scope, port)
  client.send('POST /3 HTTP/1.1\r\nHost: nobody.test\r\nContent-Length: 1000000\r\n\r\n')
  client.send(Buffer.alloc(1_000_000, SMUGGLED.replaceAll('HOST', host)))
  expect(statusOf(await client.answer())).toBe(404)
  client.send(get(host, '/after'))
  await client.untilReceived('/after').catch(() => expect(client.isEnded).toBe(true))
  await expectNoDesync(scope, port, host, origin)
})

it('a byte after the last chunk belongs to the next request, also when it comes before the answer', async (scope) => {
  const client = await RawClient.open(scope, port)
  const requests = origin.requests.length
  origin.answer = () => {}
  client.send(post([`${TE}: chunked`], chunked('hello')).replaceAll('HOST', host))
  await origin.untilRequests(requests + 1)
  client.send('G')
  // Once another request is through, the worker has read what was sent before it.
  await exchange(scope, port, get('nobody.test', '/'))
  origin.answer = echoTarget
  echoTarget(origin.requests.at(-1)!)
  expect((await client.answer()).body.toString()).toBe('/bad')
  client.send(get(host, '/next').slice(1))
  expect((await client.answer()).body.toString()).toBe('/next')
})

it('a chunk of 4 GiB and 5 bytes is never taken for one of 5', async (scope) => {
  const before = origin.requests.length
  const client = await RawClient.open(scope, port)
  const body = `100000005\r\nhello\r\n0\r\n\r\n${SMUGGLED}`
  client.send(post([`${TE}: chunked`], body).replaceAll('HOST', host))
  await expectNoDesync(scope, port, host, origin)
  client.close()
  expect(origin.requests.slice(before).filter((one) => one.target === '/bad')).toEqual([])
})
