/**
 * Group (c) of the public cases at a whole node: kept connections that died, what may be sent again, bodies
 * that go on to the next server, a drain. Names, time-outs and caps are tested at a worker, in data-plane.
 */
import { expect } from 'vitest'
import { CaseScene } from './harness/case-scene.ts'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { router, service } from './harness/fleet.ts'
import { chunked, statusOf, valuesOf } from './harness/http-text.ts'
import { type Answer, echoTarget, say } from './harness/origins/scripted-origin.ts'
import { freePort } from './harness/ports.ts'
import { exchange, get, RawClient } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it, suite, before } = claims()
let scene: CaseScene
const KEPT = 20

before(async () => {
  const refused = await freePort()
  scene = await CaseScene.start(suite, {
    documents: ([origin, other]) => [
      service('refused', [refused, origin!.port]),
      router('refused', 'refused.test', 'refused'),
      service('three', [refused, other!.port, origin!.port]),
      router('three', 'three.test', 'three'),
    ],
  })
})

/** All of `count` requests at once, each on a client connection of its own. */
async function atOnce(scope: Scope, count: number, request: (index: number) => string) {
  const answers = Array.from({ length: count }, (_, index) =>
    exchange(scope, scene.port, request(index)),
  )
  return (await Promise.all(answers)).map((answer) => `${statusOf(answer)} ${answer.body}`)
}

/** Leaves so many idle connections to the origin. */
async function fillPool(scope: Scope): Promise<void> {
  const waiting: Parameters<Answer>[0][] = []
  const count = scene.origin.requests.length
  scene.origin.answer = (request) => waiting.push(request)
  const answers = atOnce(scope, KEPT, (index) => get('a.test', `/warm-${index}`))
  await scene.origin.untilRequests(count + KEPT)
  for (const request of waiting) echoTarget(request)
  await answers
  expect(scene.origin.openCount).toBeGreaterThanOrEqual(KEPT)
}

const expected = (path: string) => Array.from({ length: KEPT }, (_, at) => `200 ${path}-${at}`)

for (const way of ['end', 'destroy', 'resetAndDestroy'] as const) {
  it(`C01: a pool of ${KEPT} connections that the origin ends at once (${way}) fails no GET`, async (scope) => {
    await fillPool(scope)
    scene.origin.answer = echoTarget
    for (const { socket, isClosed } of scene.origin.connections) if (!isClosed) socket[way]()
    expect(await atOnce(scope, KEPT, (at) => get('a.test', `/x-${at}`))).toEqual(expected('/x'))
    await scene.expectNoDesync(scope)
  })
}

it(`C01: a pool of ${KEPT} connections that are reset on their next byte fails no GET`, async (scope) => {
  await fillPool(scope)
  const doomed = new Set(scene.origin.connections)
  scene.origin.answer = (request) => {
    if (doomed.has(request.connection)) request.connection.socket.resetAndDestroy()
    else echoTarget(request)
  }
  expect(await atOnce(scope, KEPT, (at) => get('a.test', `/y-${at}`))).toEqual(expected('/y'))
  await scene.expectNoDesync(scope)
})

it('C01: each request on a kept connection that is reset by its first byte is answered', async (scope) => {
  const used = new Set<unknown>()
  scene.origin.answer = (request) => {
    if (used.has(request.connection)) request.connection.socket.resetAndDestroy()
    else echoTarget(request)
    used.add(request.connection)
  }
  const client = await RawClient.open(scope, scene.port)
  for (let index = 0; index < 30; index += 1) {
    expect((await client.send(get('a.test', `/${index}`)).answer()).body.toString()).toBe(
      `/${index}`,
    )
  }
  await scene.expectNoDesync(scope)
})

const UNSAFE: Readonly<Record<string, string>> = {
  'POST without a body': 'POST /once HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n',
  'POST of two bytes': 'POST /once HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi',
  'POST of a megabyte': `POST /once HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(1_000_000)}`,
  'PATCH in chunks': `PATCH /once HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n${chunked('hello')}`,
}
for (const [name, request] of Object.entries(UNSAFE)) {
  it(`C02: a ${name} whose kept connection is reset is not sent again`, async (scope) => {
    scene.origin.answer = echoTarget
    const client = await RawClient.open(scope, scene.port)
    await client.send(get('a.test', '/warm')).answer()
    const heads = () => scene.origin.received.split('/once HTTP/1.1').length
    const count = heads()
    scene.origin.answer = say('', 'reset')
    expect(statusOf(await client.send(request).answer())).toBe(502)
    expect(heads() - count).toBe(1)
    await scene.expectNoDesync(scope)
  })
}

it('C02: an answer 503 to a POST is passed on as it is, and the request is not sent again', async (scope) => {
  const count = scene.origin.requests.length
  scene.origin.answer = say('HTTP/1.1 503 Own\r\nContent-Length: 3\r\n\r\nown')
  const answer = await exchange(scope, scene.port, UNSAFE['POST of two bytes']!)
  expect([answer.startLine, answer.body.toString()]).toEqual(['HTTP/1.1 503 Own', 'own'])
  expect(scene.origin.requests.length - count).toBe(1)
  await scene.expectNoDesync(scope)
})

const LENGTHS = [2, 70_000, 900_000]
const textOf = (length: number) => 'abcdefghij'.repeat(length / 10 + 1).slice(0, length)
function upload(method: string, host: string, length: number): string {
  const head = `${method} /up HTTP/1.1\r\nHost: ${host}\r\n`
  const text = textOf(length)
  const isChunked = length > 100_000
  if (isChunked) return `${head}Transfer-Encoding: chunked\r\n\r\n${chunked(text, 32_768)}`
  return `${head}Content-Length: ${length}\r\n\r\n${text}`
}

for (const method of ['POST', 'PUT']) {
  for (const length of LENGTHS) {
    it(`C03: a ${method} of ${length} bytes goes on whole where the first server refuses the connection`, async (scope) => {
      scene.origin.answer = echoTarget
      for (const _turn of [1, 2]) {
        const count = scene.origin.requests.length
        const answer = await exchange(scope, scene.port, upload(method, 'refused.test', length))
        expect(statusOf(answer)).toBe(200)
        const [seen, ...others] = scene.origin.requests.slice(count)
        expect([seen?.body.toString() === textOf(length), others]).toEqual([true, []])
      }
      await scene.expectNoDesync(scope)
    })
  }
}

/** Sends `method` three times in turn, so that each server of three.test is the first one once. */
async function threeUploads(scope: Scope, method: string) {
  const count = scene.origin.requests.length
  const statuses: number[] = []
  for (const _turn of [1, 2, 3]) {
    statuses.push(statusOf(await exchange(scope, scene.port, upload(method, 'three.test', 2))))
  }
  const bodies = scene.origin.requests.slice(count).map(({ body }) => body.toString())
  return { statuses: statuses.sort(), bodies }
}

it('C03: after a server that resets once it has the head, a short PUT goes on and a POST does not', async (scope) => {
  scene.origin.answer = echoTarget
  scene.other.onConnection = ({ socket }) => {
    socket.once('data', () => socket.resetAndDestroy())
  }
  const body = textOf(2)
  expect(await threeUploads(scope, 'PUT')).toEqual({
    statuses: [200, 200, 200],
    bodies: [body, body, body],
  })
  expect(await threeUploads(scope, 'POST')).toEqual({ statuses: [200, 502, 502], bodies: [body] })
  await scene.expectNoDesync(scope)
})

it('C03: a server that resets as it accepts may have seen a byte of a POST or not, so it goes on at most once', async (scope) => {
  scene.origin.answer = echoTarget
  scene.other.onConnection = ({ socket }) => {
    socket.pause()
    setImmediate(() => socket.resetAndDestroy())
  }
  const { statuses, bodies } = await threeUploads(scope, 'POST')
  expect(statuses.every((status) => status === 200 || status === 502)).toBe(true)
  expect(bodies).toEqual(statuses.filter((status) => status === 200).map(() => textOf(2)))
  await scene.expectNoDesync(scope)
})

it('C11: a drain ends idle connections, finishes what runs with Connection: close, and then ends the process', async (scope) => {
  const draining = await CaseScene.start(scope, { words: ['--drain-grace', '3'] })
  const { origin, port, node } = draining
  const opened = () => RawClient.open(scope, port)
  const [idle, running, uploading, upgraded] = await Promise.all([
    opened(),
    opened(),
    opened(),
    opened(),
  ])
  await idle.send(get('a.test', '/idle')).answer()
  const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'
  const waiting: Parameters<Answer>[0][] = []
  origin.answer = (request) => {
    if (request.target === '/chat') say(switching)(request)
    else waiting.push(request)
  }
  upgraded.send('GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
  await upgraded.untilReceived('101')
  running.send(get('a.test', '/running'))
  uploading.send('POST /upload HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nhello')
  await eventually(() => waiting.length === 1 && origin.received.includes('/upload'), {
    withinMs: 5_000,
  })
  node.process.signal('SIGTERM')
  await idle.untilEnded()
  uploading.send('world')
  await eventually(() => waiting.length === 2, { withinMs: 5_000 })
  for (const request of waiting) echoTarget(request)
  for (const client of [running, uploading]) {
    const answer = await client.answer()
    expect([statusOf(answer), valuesOf(answer, 'connection')]).toEqual([200, ['close']])
    await client.untilEnded()
  }
  const [tunnel] = origin.connections.filter((one) => one.record.bytes.includes('/chat'))
  upgraded.send('ping')
  await eventually(() => tunnel?.record.bytes.includes('ping'), { withinMs: 5_000 })
  await upgraded.untilEnded(10_000)
  tunnel?.socket.end()
  expect(await node.process.waitForExit(10_000)).toEqual({ code: 0, signal: null })
})
