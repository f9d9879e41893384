/** Origins that refuse, break off, stall or talk nonsense: what the client sees, and what it does not. */
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { expectNoDesync } from './harness/desync.ts'
import { eventually } from './harness/eventually.ts'
import { type Fleet, startFleet } from './harness/fleet.ts'
import { statusOf, valuesOf } from './harness/http-text.ts'
import { echoTarget, ScriptedOrigin, say } from './harness/origins/scripted-origin.ts'
import { freePort } from './harness/ports.ts'
import { get, RawClient } from './harness/raw-client.ts'
import { routeTo } from './harness/routes.ts'

const { it, suite, before } = claims()
let fleet: Fleet
let port: number

const TIMEOUTS = { timeouts: { connectMs: 2_000, firstByteMs: 300, idleMs: 300 } }

before(async () => {
  fleet = await startFleet(suite)
  port = fleet.node.port()
})

it('a server that refuses connections gives 502 in short plain text, and the client connection goes on', async (scope) => {
  const host = await routeTo(fleet, [await freePort()])
  const client = await RawClient.open(scope, port)
  for (let index = 0; index < 2; index += 1) {
    const answer = await client.send(get(host, '/')).answer()
    expect(statusOf(answer)).toBe(502)
    expect(valuesOf(answer, 'content-type')[0]).toMatch(/^text\/plain/)
    expect(answer.body.length).toBeLessThan(200)
  }
})

const BEFORE_A_HEAD: Readonly<Record<string, readonly [string, 'stay' | 'end' | 'reset', number]>> =
  {
    'an origin that closes without a word': ['', 'end', 502],
    'an origin that resets without a word': ['', 'reset', 502],
    'an origin that closes within the status line': ['HTTP/1.1 20', 'end', 502],
    'an origin that says nothing': ['', 'stay', 504],
    'an origin that stalls within its head': ['HTTP/1.1 200 OK\r\nX: 1\r\n', 'stay', 504],
    'a status line without HTTP': ['FTP/1.1 200 OK\r\n\r\n', 'stay', 502],
    'a status of five digits': ['HTTP/1.1 99999 X\r\nContent-Length: 0\r\n\r\n', 'stay', 502],
    'a status of one digit': ['HTTP/1.1 2 \r\nContent-Length: 0\r\n\r\n', 'stay', 502],
    'two lengths that differ': [
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!',
      'stay',
      502,
    ],
    'a coding that nobody asked for': [
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx',
      'end',
      502,
    ],
  }
for (const [name, [bytes, then, status]] of Object.entries(BEFORE_A_HEAD)) {
  it(`${name} gives ${status}, and the client connection goes on`, async (scope) => {
    const origin = await ScriptedOrigin.start(scope)
    const host = await routeTo(fleet, [origin.port], { service: TIMEOUTS })
    origin.answer = say(bytes, then)
    const client = await RawClient.open(scope, port)
    const posted = `POST /1 HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 2\r\n\r\nok`
    const answer = await client.send(posted).answer()
    expect(statusOf(answer)).toBe(status)
    expect(answer.body.length).toBeLessThan(200)
    expect(origin.requests).toHaveLength(1)
    origin.answer = echoTarget
    expect((await client.send(get(host, '/2')).answer()).body.toString()).toBe('/2')
    await expectNoDesync(scope, port, host, origin)
  })
}

const OK = 'HTTP/1.1 200 OK\r\n'
const CUT_OFF: Readonly<Record<string, readonly [string, 'stay' | 'end' | 'reset']>> = {
  'a body shorter than its length': [`${OK}Content-Length: 1000\r\n\r\nhello`, 'end'],
  'a head with a length and nothing after it': [`${OK}Content-Length: 123\r\n\r\n`, 'end'],
  'chunks without the last one': [`${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`, 'end'],
  'half a chunk': [`${OK}Transfer-Encoding: chunked\r\n\r\n50\r\nhello`, 'end'],
  'chunks and then a reset': [`${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`, 'reset'],
  'chunks and then silence': [`${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`, 'stay'],
  'a length and then silence': [`${OK}Content-Length: 1000\r\n\r\nhello`, 'stay'],
  'a chunk size that ends in LF': [
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n`,
    'stay',
  ],
  'a chunk that ends in LF': [
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n`,
    'stay',
  ],
}
for (const [name, [bytes, then]] of Object.entries(CUT_OFF)) {
  it(`${name}: the client can tell that the answer is not whole`, async (scope) => {
    const origin = await ScriptedOrigin.start(scope)
    const host = await routeTo(fleet, [origin.port], { service: TIMEOUTS })
    origin.answer = say(bytes, then)
    const client = await RawClient.open(scope, port)
    client.send(get(host, '/cut'))
    await client.untilEnded()
    const isRefused = client.text.startsWith('HTTP/1.1 502 ')
    if (!isRefused) {
      expect(client.text).toMatch(/^HTTP\/1\.1 200 /)
      expect(client.text).not.toContain('\r\n0\r\n\r\n')
      const sent = /content-length: (\d+)/i.exec(client.text)?.[1]
      const body = client.text.slice(client.text.indexOf('\r\n\r\n') + 4)
      if (sent !== undefined) expect(body.length).toBeLessThan(Number(sent))
    }
    await expectNoDesync(scope, port, host, origin)
  })
}

it('bytes after the end of an answer are dropped with their connection', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  origin.answer = say(`${OK}Content-Length: 2\r\n\r\nok${OK}Content-Length: 6\r\n\r\npoison`)
  const client = await RawClient.open(scope, port)
  expect((await client.send(get(host, '/1')).answer()).body.toString()).toBe('ok')
  await expectNoDesync(scope, port, host, origin)
  expect(client.text).not.toContain('poison')
  expect(origin.connections.length).toBeGreaterThan(1)
})

it('an answer with a length and chunks is passed on with chunks alone, on a connection used once', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const framing = 'Content-Length: 3\r\nTransfer-Encoding: chunked'
  origin.answer = say(`${OK}${framing}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`)
  const client = await RawClient.open(scope, port)
  const answer = await client.send(get(host, '/')).answer()
  const isRefused = statusOf(answer) === 502
  if (!isRefused) {
    expect(valuesOf(answer, 'content-length')).toEqual([])
    expect(answer.body.toString()).toBe('hello')
  }
  await expectNoDesync(scope, port, host, origin)
  expect(origin.connections.length).toBeGreaterThan(1)
})

it('a GET on a kept connection that the origin closes at that moment is still answered', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  origin.answer = (request) => {
    echoTarget(request)
    request.connection.socket.end()
  }
  const client = await RawClient.open(scope, port)
  for (let index = 0; index < 100; index += 1) {
    const answer = await client.send(get(host, `/${index}`)).answer()
    expect(`${statusOf(answer)} ${answer.body}`).toBe(`200 /${index}`)
  }
})

it('a POST whose connection breaks is not sent a second time', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const client = await RawClient.open(scope, port)
  await client.send(get(host, '/warm')).answer()
  origin.answer = say('', 'reset')
  client.send(`POST /once HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`)
  expect(statusOf(await client.answer())).toBe(502)
  expect(origin.requests.filter((one) => one.target === '/once')).toHaveLength(1)
})

it('a client that leaves takes its upstream connection with it', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  origin.answer = () => {}
  const client = await RawClient.open(scope, port)
  client.send(get(host, '/left'))
  await origin.untilRequests(1)
  client.reset()
  const [connection] = origin.connections
  await eventually(() => connection?.isClosed, {
    withinMs: 2_000,
    that: 'the end of the upstream connection',
  })
  await expectNoDesync(scope, port, host, origin)
})
