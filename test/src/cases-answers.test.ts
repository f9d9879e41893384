/** Group (b) of the public cases: answers that have no body, come early, late, in parts, or not whole. */
import { expect } from 'vitest'
import { CaseScene, LATE_MS } from './harness/case-scene.ts'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { statusOf, valuesOf } from './harness/http-text.ts'
import {
  type Answer,
  echoTarget,
  type OriginConnection,
  say,
} from './harness/origins/scripted-origin.ts'
import { get, RawClient } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it, suite, before } = claims()
let scene: CaseScene

before(async () => {
  scene = await CaseScene.start(suite)
})

const OK = 'HTTP/1.1 200 OK\r\n'
const HELLO = `${OK}Content-Length: 5\r\n\r\nhello`
const NO_CONTENT = 'HTTP/1.1 204 No Content\r\n'
const NOT_MODIFIED = 'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n'
const HINT = (name: string) => `HTTP/1.1 103 Early Hints\r\nLink: </${name}.css>\r\n\r\n`

/** Answers `/case` as told, everything else with its target. */
function onCase(answer: Answer): void {
  scene.origin.answer = (request) => (request.target === '/case' ? answer : echoTarget)(request)
}

async function opened(scope: Scope): Promise<RawClient> {
  return RawClient.open(scope, scene.port)
}

async function expectGoesOn(client: RawClient, host = 'a.test'): Promise<void> {
  expect((await client.send(get(host, '/next')).answer()).body.toString()).toBe('/next')
}

async function untilClosed(connection: OriginConnection | undefined): Promise<void> {
  await eventually(() => connection?.isClosed, { withinMs: 5_000, that: 'the end at the origin' })
}

/** What the origin says, and the length that the client is told. */
const BODYLESS: Readonly<Record<string, readonly [said: string, length: string[]]>> = {
  'HEAD with a length': [`${OK}Content-Length: 1000\r\n\r\n`, ['1000']],
  'HEAD in chunks': [`${OK}Transfer-Encoding: chunked\r\n\r\n`, []],
  'HEAD without a length': [`${OK}X-A: 1\r\n\r\n`, []],
  'HEAD with a body all the same': [`${OK}Content-Length: 5\r\n\r\nhello`, ['5']],
  'HEAD with chunks all the same': [
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    [],
  ],
  'HEAD after a 100': [`HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 1000\r\n\r\n`, ['1000']],
  '204 with length 0': [`${NO_CONTENT}Content-Length: 0\r\n\r\n`, []],
  '204 with length 5': [`${NO_CONTENT}Content-Length: 5\r\n\r\n`, []],
  '204 with five bytes': [`${NO_CONTENT}Content-Length: 5\r\n\r\nhello`, []],
  '204 in chunks': [`${NO_CONTENT}Transfer-Encoding: chunked\r\n\r\n`, []],
  '204 with a last chunk': [`${NO_CONTENT}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, []],
  '304 with a length': [`${NOT_MODIFIED}Content-Length: 1000\r\n\r\n`, ['1000']],
  '304 without a length': [`${NOT_MODIFIED}\r\n`, []],
  '304 with five bytes': [`${NOT_MODIFIED}Content-Length: 5\r\n\r\nhello`, ['5']],
}
for (const [name, [said, length]] of Object.entries(BODYLESS)) {
  it(`B01: ${name} has no body and an honest length, and the connection goes on`, async (scope) => {
    onCase(say(said))
    const client = await opened(scope)
    const method = name.startsWith('HEAD') ? 'HEAD' : 'GET'
    client.send(`${method} /case HTTP/1.1\r\nHost: a.test\r\n\r\n`)
    const isBodiless = true
    let answer = await client.answer({ isBodiless })
    if (statusOf(answer) === 100) answer = await client.answer({ isBodiless })
    expect(valuesOf(answer, 'content-length')).toEqual(length)
    expect(valuesOf(answer, 'transfer-encoding')).toEqual([])
    const { connection } = scene.origin.requests.at(-1)!
    await expectGoesOn(client)
    if (!said.endsWith('\r\n\r\n') || said.includes('\r\n0\r\n')) await untilClosed(connection)
    await scene.expectNoDesync(scope)
  })
}

it('B01: a length in a 103 is removed', async (scope) => {
  onCase(say(`HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n${HELLO}`))
  const client = await opened(scope)
  const interim = await client.send(get('a.test', '/case')).answer()
  expect([statusOf(interim), valuesOf(interim, 'content-length')]).toEqual([103, []])
  expect((await client.answer()).body.toString()).toBe('hello')
  await scene.expectNoDesync(scope)
})

it('B02: each 103 is passed on before the next comes, then the final answer', async (scope) => {
  const client = await opened(scope)
  onCase(async ({ connection: { socket } }) => {
    socket.write(HINT('one'))
    await client.untilReceived('one.css')
    socket.write(HINT('two'))
    await client.untilReceived('two.css')
    socket.write(HELLO)
  })
  client.send(get('a.test', '/case'))
  expect([statusOf(await client.answer()), statusOf(await client.answer())]).toEqual([103, 103])
  expect((await client.answer()).body.toString()).toBe('hello')
  await expectGoesOn(client)
  await scene.expectNoDesync(scope)
})

const INTERIM = {
  'two 103 and the answer in one segment': HINT('one') + HINT('two') + HELLO,
  'a 100 that nobody asked for': `HTTP/1.1 100 Continue\r\n\r\n${HELLO}`,
}
for (const [name, said] of Object.entries(INTERIM)) {
  it(`B02: ${name} arrive whole and in order; an HTTP/1.0 client gets the final answer alone`, async (scope) => {
    onCase(say(said))
    const client = await opened(scope)
    await client.send(get('a.test', '/case')).untilReceived('hello')
    expect(client.text).toBe(said)
    const old = await opened(scope)
    await old.send('GET /case HTTP/1.0\r\nHost: a.test\r\n\r\n').untilEnded()
    expect(old.text).toMatch(/^HTTP\/1\.1 200 OK\r\n.*hello$/s)
    expect(old.text).not.toContain('HTTP/1.1 10')
    await scene.expectNoDesync(scope)
  })
}

it('B02: a 103 and then FIN gives 502', async (scope) => {
  onCase(say(HINT('one'), 'end'))
  const client = await opened(scope)
  expect(statusOf(await client.send(get('a.test', '/case')).answer())).toBe(103)
  expect(statusOf(await client.answer())).toBe(502)
  await scene.expectNoDesync(scope)
})

const BODY_BYTES = 10_000_000
const put = (length: number, host = 'a.test', version = '1.1') =>
  `PUT /case HTTP/${version}\r\nHost: ${host}\r\nExpect: 100-continue\r\n` +
  `Content-Length: ${length}\r\n\r\n`

/** Takes the next connection over: `onHead` once its first head is there, bytes counted from then on. */
function takeOver(onHead: (connection: OriginConnection) => void): void {
  scene.origin.closeConnections()
  scene.origin.onConnection = (connection) => {
    scene.origin.onConnection = undefined
    const { socket, record } = connection
    const look = () => {
      if (!record.bytes.includes('\r\n\r\n')) return
      socket.off('data', look)
      onHead(connection)
    }
    socket.on('data', look)
  }
}

const bodyLength = ({ record }: OriginConnection) =>
  record.length - record.bytes.indexOf('\r\n\r\n') - 4

it('B03: Expect goes to the origin, and its 100 is what lets the body come', async (scope) => {
  const { promise: head, resolve } = Promise.withResolvers<OriginConnection>()
  takeOver(resolve)
  const client = await opened(scope)
  client.send(put(BODY_BYTES))
  const connection = await head
  expect(connection.record.bytes.toString()).toMatch(/\r\nExpect: 100-continue\r\n/)
  expect([client.text, bodyLength(connection)]).toEqual(['', 0])
  connection.socket.write('HTTP/1.1 100 Continue\r\n\r\n')
  expect(statusOf(await client.answer())).toBe(100)
  client.send(Buffer.alloc(BODY_BYTES, 'w'))
  await eventually(() => bodyLength(connection) === BODY_BYTES, { withinMs: 20_000 })
  connection.socket.write(HELLO)
  expect((await client.answer()).body.toString()).toBe('hello')
  scene.origin.readRequests(connection)
  await scene.expectNoDesync(scope)
})

for (const status of ['401 Unauthorized', '417 Expectation Failed']) {
  it(`B03: ${status} reaches the client, and a body that comes late is no request`, async (scope) => {
    const { promise: head, resolve } = Promise.withResolvers<OriginConnection>()
    takeOver(resolve)
    const late = get('a.test', '/smuggled')
    const client = await opened(scope)
    client.send(put(late.length))
    const connection = await head
    connection.socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 4\r\n\r\nnope`)
    expect((await client.answer()).body.toString()).toBe('nope')
    client.send(late)
    await client.untilEnded()
    await untilClosed(connection)
    expect(bodyLength(connection)).toBe(0)
    await scene.expectNoDesync(scope)
  })
}

it('B03: an origin that never says 100 gives 504 in its time', async (scope) => {
  takeOver(() => {})
  const client = await opened(scope)
  expect(statusOf(await client.send(put(BODY_BYTES, 'late.test')).answer())).toBe(504)
  await scene.expectNoDesync(scope)
})

it('B03: a client that does not wait, or speaks HTTP/1.0, is served', async (scope) => {
  onCase(echoTarget)
  const client = await opened(scope)
  expect((await client.send(`${put(5)}hello`).answer()).body.toString()).toBe('/case')
  const old = await opened(scope)
  expect(statusOf(await old.send(`${put(5, 'a.test', '1.0')}hello`).answer())).toBe(200)
  expect(scene.origin.requests.slice(-2).map(({ body }) => body.toString())).toEqual([
    'hello',
    'hello',
  ])
  await scene.expectNoDesync(scope)
})

const UPLOAD_BYTES = 20_000_000
const TOO_LARGE = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 7\r\n\r\ntoo big'
const AFTER_413: Readonly<Record<string, (connection: OriginConnection) => void>> = {
  'goes on to read': () => {},
  'stops to read': ({ socket }) => socket.pause(),
  'ends its side': ({ socket }) => socket.end(),
  resets: ({ socket }) => socket.resetAndDestroy(),
}
for (const [name, then] of Object.entries(AFTER_413)) {
  it(`B04: 413 in the middle of an upload reaches the client whole, also when the origin then ${name}`, async (scope) => {
    const { promise: head, resolve } = Promise.withResolvers<OriginConnection>()
    takeOver(resolve)
    const client = await opened(scope)
    client.send(`POST /case HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${UPLOAD_BYTES}\r\n\r\n`)
    client.send(Buffer.alloc(1_000_000))
    const connection = await head
    await eventually(() => bodyLength(connection) === 1_000_000, { withinMs: 5_000 })
    connection.socket.write(TOO_LARGE, () => then(connection))
    client.send(Buffer.alloc(UPLOAD_BYTES - 1_000_000))
    const answer = await client.answer()
    expect([statusOf(answer), answer.body.toString()]).toEqual([413, 'too big'])
    expect(valuesOf(answer, 'connection')).toEqual(['close'])
    await client.untilEnded()
    await untilClosed(connection)
    await scene.expectNoDesync(scope)
  })
}

const CHUNKS = `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nworld\r\n`
const CUT: Readonly<
  Record<string, readonly [said: string, 'end' | 'reset' | 'stay', body: string]>
> = {
  'a length, then FIN': [`${OK}Content-Length: 1000\r\n\r\nhello`, 'end', 'hello'],
  'a length, then RST': [`${OK}Content-Length: 1000\r\n\r\nhello`, 'reset', 'hello'],
  'a length, then silence': [`${OK}Content-Length: 1000\r\n\r\nhello`, 'stay', 'hello'],
  'chunks, then FIN': [CHUNKS, 'end', 'helloworld'],
  'chunks, then RST': [CHUNKS, 'reset', 'helloworld'],
  'chunks, then silence': [CHUNKS, 'stay', 'helloworld'],
  'a head, then FIN': [`${OK}Content-Length: 123\r\n\r\n`, 'end', ''],
}
for (const [name, [said, then, body]] of Object.entries(CUT)) {
  for (const version of ['1.1', '1.0']) {
    it(`B05: ${name}: an HTTP/${version} client gets what there was and sees that it is not whole`, async (scope) => {
      onCase(async (request) => {
        say(said)(request)
        if (then === 'stay') return
        // Only then is it certain that what came before the reset was passed on.
        await client.untilReceived(body.slice(-5) || 'Content-Length')
        if (then === 'end') request.connection.socket.end()
        else request.connection.socket.resetAndDestroy()
      })
      const client = await opened(scope)
      const errors: Error[] = []
      client.socket.on('error', (error) => errors.push(error))
      const count = scene.origin.requests.length
      client.send(`GET /case HTTP/${version}\r\nHost: late.test\r\n\r\n`)
      await client.untilEnded()
      expect(client.text).toMatch(/^HTTP\/1\.1 200 /)
      const [head = '', ...rest] = client.text.split('\r\n\r\n')
      expect(rest.join('').replaceAll(/5\r\n|\r\n/g, '')).toBe(body)
      if (!/content-length|transfer-encoding/i.test(head)) {
        expect(errors).toMatchObject([{ code: 'ECONNRESET' }])
      }
      expect(scene.origin.requests.length - count).toBe(1)
      await scene.expectNoDesync(scope)
    })
  }
}

const HEADLESS: Readonly<
  Record<string, readonly [said: string, 'end' | 'reset' | 'stay', number]>
> = {
  RST: ['', 'reset', 502],
  FIN: ['', 'end', 502],
  'a part of a status line': ['HTTP/1.1 20', 'end', 502],
  'a head that stalls after 3 KB': [`${OK}X-A: ${'x'.repeat(3_000)}\r\n`, 'stay', 504],
}
for (const [name, [said, then, status]] of Object.entries(HEADLESS)) {
  for (const place of [1, 5]) {
    it(`B06: ${name} in place of a head gives ${status} to request ${place} of a connection, which goes on`, async (scope) => {
      onCase(say(said, then))
      const client = await opened(scope)
      for (let at = 1; at < place; at += 1) await expectGoesOn(client, 'late.test')
      // Where the node does not know yet that a connection has ended, it sends a GET once more on a fresh one.
      scene.origin.closeConnections()
      client.send(get('late.test', '/case'))
      expect(statusOf(await client.answer({ withinMs: LATE_MS + 10_000 }))).toBe(status)
      await expectGoesOn(client, 'late.test')
      await scene.expectNoDesync(scope)
    })
  }
}

const EXCESS = {
  'a length of 8': `${OK}Content-Length: 8\r\n\r\n12345678${HELLO}`,
  'a length of 0': `${OK}Content-Length: 0\r\n\r\n${HELLO}`,
  'a last chunk': `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HELLO}`,
}
for (const [name, said] of Object.entries(EXCESS)) {
  it(`B08: bytes after ${name} are dropped, and never the next answer`, async (scope) => {
    onCase(say(said))
    const client = await opened(scope)
    expect(statusOf(await client.send(get('a.test', '/case')).answer())).toBe(200)
    const { connection } = scene.origin.requests.at(-1)!
    await expectGoesOn(client)
    await untilClosed(connection)
    expect(client.text).not.toContain('hello')
    await scene.expectNoDesync(scope)
  })
}

const LONG = 70_000
const TOO_LONG: Readonly<Record<string, readonly [request: string, number]>> = {
  'a request line of 70 KB': [get('a.test', `/${'x'.repeat(LONG)}`), 414],
  'a field of 70 KB': [`GET / HTTP/1.1\r\nHost: a.test\r\nX: ${'x'.repeat(LONG)}\r\n\r\n`, 431],
  '70 KB in 500 fields': [
    `GET / HTTP/1.1\r\nHost: a.test\r\n${`X-Field: ${'x'.repeat(130)}\r\n`.repeat(500)}\r\n`,
    431,
  ],
}
for (const [name, [request, status]] of Object.entries(TOO_LONG)) {
  it(`B10: ${name} gets ${status}, which the client can read`, async (scope) => {
    const received = scene.origin.received.length
    const client = await opened(scope)
    let isReset = false
    client.socket.on('error', () => {
      isReset = true
    })
    expect(statusOf(await client.send(request).answer())).toBe(status)
    await client.untilEnded()
    expect([isReset, scene.origin.received.length]).toEqual([false, received])
    await scene.expectNoDesync(scope)
  })
}

const COOKIE = `Set-Cookie: a=${'x'.repeat(500)}\r\n`
for (const [cookies, status] of [
  [15, 200],
  [60, 200],
  [80, 502],
  [600, 502],
] as const) {
  it(`B10: an answer with ${cookies} cookies of 500 bytes gives ${status}, and only that request fails`, async (scope) => {
    onCase(say(`${OK}${COOKIE.repeat(cookies)}Content-Length: 2\r\n\r\nok`))
    const client = await opened(scope)
    const answer = await client.send(get('a.test', '/case')).answer()
    expect(statusOf(answer)).toBe(status)
    if (status === 200) expect(valuesOf(answer, 'set-cookie')).toHaveLength(cookies)
    await expectGoesOn(client)
    await scene.expectNoDesync(scope)
  })
}
