/**
 * Group (a) of the public cases, as far as malformed-requests.test.ts has not got it: what is accepted and
 * written anew, framing faults of origins, bytes that follow a message, upgrades.
 */
import { expect } from 'vitest'
import { CaseScene } from './harness/case-scene.ts'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { chunked, type Message, statusOf, valuesOf } from './harness/http-text.ts'
import { echoTarget, say } from './harness/origins/scripted-origin.ts'
import { get, RawClient } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it, suite, before } = claims()
let scene: CaseScene

before(async () => {
  scene = await CaseScene.start(suite)
})

const TE = 'Transfer-Encoding'
const CL = 'Content-Length'
const SMUGGLED = get('a.test', '/smuggled')

function post(fields: readonly string[], body: string, version = '1.1'): string {
  const lines = fields.map((one) => `${one}\r\n`).join('')
  return `POST /a HTTP/${version}\r\nHost: a.test\r\n${lines}\r\n${body}`
}

/** Sends on a connection of its own; the answers until `count` or the end. */
async function send(scope: Scope, bytes: string): Promise<RawClient> {
  const client = await RawClient.open(scope, scene.port)
  return client.send(bytes)
}

const CODINGS = [
  ' chunked',
  ',chunked',
  'chunked, chunked',
  'gzip',
  'xchunked',
  '',
  'gzip, chunked',
]
for (const value of CODINGS) {
  it(`A02: "${TE}: ${value}" beside a length is refused`, async (scope) => {
    const received = scene.origin.received.length
    const client = await send(scope, post([`${TE}: ${value}`, `${CL}: 5`], `0\r\n\r\n${SMUGGLED}`))
    expect([400, 501]).toContain(statusOf(await client.answer()))
    await client.untilEnded()
    expect(scene.origin.received.length).toBe(received)
    await scene.expectNoDesync(scope)
  })
}

const LENGTHS: Readonly<Record<string, readonly [readonly string[], number]>> = {
  'the same on two lines': [[`${CL}: 5`, `${CL}: 5`], 400],
  'the same twice in a list': [[`${CL}: 5, 5`], 400],
  'with leading zeros': [[`${CL}: 0000000005`], 200],
}
for (const [name, [fields, status]] of Object.entries(LENGTHS)) {
  it(`A03: a length ${name} is ${status === 200 ? 'read as decimal and rewritten' : 'refused'}`, async (scope) => {
    const count = scene.origin.requests.length
    const client = await send(scope, post(fields, 'hello'))
    expect(statusOf(await client.answer())).toBe(status)
    const seen = scene.origin.requests.slice(count)
    expect(seen.map((one) => valuesOf(one, 'content-length'))).toEqual(
      status === 200 ? [['5']] : [],
    )
    await scene.expectNoDesync(scope)
  })
}

it('A03: a length of 010 is ten', async (scope) => {
  const count = scene.origin.requests.length
  const client = await send(scope, post([`${CL}: 010`], '0123456789'))
  expect(statusOf(await client.answer())).toBe(200)
  expect(scene.origin.requests.slice(count).map((one) => one.body.toString())).toEqual([
    '0123456789',
  ])
  await scene.expectNoDesync(scope)
})

it('A04: chunks in an HTTP/1.0 request are refused', async (scope) => {
  const received = scene.origin.received.length
  const fields = ['Connection: keep-alive', `${TE}: chunked`]
  const client = await send(scope, post(fields, chunked('hello'), '1.0'))
  expect(statusOf(await client.answer())).toBe(400)
  await client.untilEnded()
  expect(scene.origin.received.length).toBe(received)
  await scene.expectNoDesync(scope)
})

it('A04: an HTTP/1.0 request without a length has no body; what follows is a request of its own', async (scope) => {
  const count = scene.origin.requests.length
  const next = get('nobody.test', '/own')
  const client = await send(scope, post(['Connection: keep-alive'], next, '1.0'))
  expect(statusOf(await client.answer())).toBe(200)
  expect(statusOf(await client.answer())).toBe(404)
  expect(scene.origin.requests.slice(count).map(({ target }) => target)).toEqual(['/a'])
  await scene.expectNoDesync(scope)
})

it('A08: a space after a chunk size is refused', async (scope) => {
  const count = scene.origin.requests.length
  const client = await send(scope, post([`${TE}: chunked`], '5 \r\nhello\r\n0\r\n\r\n'))
  expect(statusOf(await client.answer())).toBe(400)
  await client.untilEnded()
  expect(scene.origin.requests.length).toBe(count)
  await scene.expectNoDesync(scope)
})

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKS = `${OK}${TE}: chunked\r\n\r\n`
const BAD_CHUNKS = {
  'an LF after the size': '5\nhello\r\n0\r\n\r\n',
  'an LF after the data': '5\r\nhello\n0\r\n\r\n',
  'an LF in an extension': '5;a\n=b\r\nhello\r\n0\r\n\r\n',
  'LF LF at the end': '5\r\nhello\r\n0\n\n',
  'a size of 2^64 and 5': '10000000000000005\r\nhello\r\n0\r\n\r\n',
  'a size with a sign': '+5\r\nhello\r\n0\r\n\r\n',
  'no size': '\r\nhello\r\n0\r\n\r\n',
  'a size of 4096 zeros and a 5': `${'0'.repeat(4_096)}5\r\nhello\r\n0\r\n\r\n`,
}
for (const [name, chunks] of Object.entries(BAD_CHUNKS)) {
  it(`A05, A08: an answer in chunks with ${name} is visibly incomplete, and its connection is not kept`, async (scope) => {
    scene.origin.answer = say(`${CHUNKS}${chunks}`)
    const client = await send(scope, get('a.test', '/bad'))
    await client.untilEnded()
    expect(client.text).not.toContain('\r\n0\r\n\r\n')
    const { connection } = scene.origin.requests.at(-1)!
    await eventually(() => connection.isClosed, { withinMs: 5_000 })
    await scene.expectNoDesync(scope)
  })
}

/** Fields of an answer, and what becomes of it: a status, and the fields that the client gets. */
const ANSWER_FIELDS: Readonly<Record<string, readonly [fields: string, status: number]>> = {
  'A10: a space before a colon': ['X-A : 1\r\nContent-Length : 5\r\n', 200],
  'A10: a tab before a colon': ['X-A\t: 1\r\nContent-Length\t: 5\r\n', 200],
  'A10: a space before the coding': ['X-A: 1\r\nTransfer-Encoding : chunked\r\n', 200],
  'A10: a space before the first field': [' X-A: 1\r\nContent-Length: 5\r\n', 502],
  'A10: a folded length': ['X-A: 1\r\nContent-Length:\r\n 5\r\n', 502],
  'A10: a coding folded into another field': ['X-A: 1\r\n\tTransfer-Encoding: chunked\r\n', 502],
  'A10: a length on a line of its own': ['X-A: 1\r\nContent-Length:\r\n5\r\n', 502],
  'A11: an empty name': [': v\r\nContent-Length: 5\r\n', 502],
  'A11: no colon': ['NoColonHere\r\nContent-Length: 5\r\n', 502],
  'A11: a length without a colon': ['Content-Length 5\r\n', 502],
  'A11: a name with a space': ['Bad Name: v\r\nContent-Length: 5\r\n', 502],
  'A11: a name with a bracket': ['X(: v\r\nContent-Length: 5\r\n', 502],
  'A11: a name outside ASCII': ['X\x85: v\r\nContent-Length: 5\r\n', 502],
  'A11: NUL in a name': ['X\0: v\r\nContent-Length: 5\r\n', 502],
  'A11: NUL in a value': ['X: a\0b\r\nContent-Length: 5\r\n', 502],
  'A06: a bare LF': ['X-A: 1\nContent-Length: 5\r\n', 502],
}
for (const [name, [fields, status]] of Object.entries(ANSWER_FIELDS)) {
  it(`${name} in an answer is ${status === 200 ? 'repaired' : 'answered 502'}`, async (scope) => {
    const body = fields.includes('chunked') ? chunked('hello') : 'hello'
    scene.origin.answer = say(`${OK}${fields}\r\n${body}`)
    const client = await send(scope, get('a.test', '/bad'))
    const answer = await client.answer()
    expect(statusOf(answer)).toBe(status)
    if (status === 200) {
      expect(answer.body.toString()).toBe('hello')
      expect(valuesOf(answer, 'x-a')).toEqual(['1'])
      expect(answer.bytes.toString()).not.toMatch(/[ \t]:/)
    }
    await scene.expectNoDesync(scope)
  })
}

it('A12: a Host with a final dot is the same host, and a literal address is a host that nobody has', async (scope) => {
  const client = await send(scope, get('a.test.', '/dot') + get('[::1]:8080', '/six'))
  expect((await client.answer()).body.toString()).toBe('/dot')
  expect(statusOf(await client.answer())).toBe(404)
})

it('A15: a GET with a body is forwarded with both or neither, and its body is never a request', async (scope) => {
  const count = scene.origin.requests.length
  const head = `GET /a HTTP/1.1\r\nHost: a.test\r\n${CL}: ${SMUGGLED.length}\r\n\r\n`
  const client = await send(scope, `${head}${SMUGGLED}${get('a.test', '/next')}`)
  expect((await client.answer()).body.toString()).toBe('/a')
  expect((await client.answer()).body.toString()).toBe('/next')
  const [first] = scene.origin.requests.slice(count)
  expect(first?.body.toString()).toBe(SMUGGLED)
  await scene.expectNoDesync(scope)
})

const UPGRADE =
  'GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n'

for (const [status, answer] of [
  [200, `${OK}Content-Length: 2\r\n\r\nok`],
  [426, 'HTTP/1.1 426 Upgrade Required\r\nConnection: upgrade\r\nContent-Length: 0\r\n\r\n'],
] as const) {
  it(`A16: what follows an upgrade that is answered ${status} is a request of its own`, async (scope) => {
    const early: Message[] = []
    const count = scene.origin.requests.length
    scene.origin.answer = (request) => {
      if (request.target !== '/chat') return echoTarget(request)
      if (request.connection.record.bytes.includes('/admin')) early.push(request)
      return say(answer)(request)
    }
    const client = await send(scope, UPGRADE + get('nobody.test', '/admin'))
    expect(statusOf(await client.answer())).toBe(status)
    expect(statusOf(await client.answer())).toBe(404)
    expect(early).toEqual([])
    expect(scene.origin.requests.slice(count).map(({ target }) => target)).toEqual(['/chat'])
    await scene.expectNoDesync(scope)
  })
}

it('A16: a 101 that nobody asked for gives 502, and its connection ends', async (scope) => {
  scene.origin.answer = say('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n')
  const client = await send(scope, get('a.test', '/'))
  expect(statusOf(await client.answer())).toBe(502)
  const { connection } = scene.origin.requests.at(-1)!
  await eventually(() => connection.isClosed, { withinMs: 5_000 })
  await scene.expectNoDesync(scope)
})

const NO_UPGRADES = {
  h2c: 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
  'an Upgrade that Connection does not name': 'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n',
}
for (const [name, lines] of Object.entries(NO_UPGRADES)) {
  it(`A16: ${name} is not passed on`, async (scope) => {
    const client = await send(scope, `GET /up HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`)
    expect((await client.answer()).body.toString()).toBe('/up')
    const seen = scene.origin.requests.at(-1)!
    const names = seen.fields.map(([field]) => field.toLowerCase())
    for (const gone of ['upgrade', 'connection', 'http2-settings']) {
      expect(names).not.toContain(gone)
    }
    await scene.expectNoDesync(scope)
  })
}

it('A16: the body of a CONNECT is never a request', async (scope) => {
  const received = scene.origin.received.length
  const head = `CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n${CL}: ${SMUGGLED.length}\r\n\r\n`
  const client = await send(scope, head + SMUGGLED)
  expect(statusOf(await client.answer())).toBe(501)
  await client.untilEnded()
  expect(client.text.match(/HTTP\/1.1 /g)).toHaveLength(1)
  expect(scene.origin.received.length).toBe(received)
  await scene.expectNoDesync(scope)
})
