/** Group (d) of the public cases for HTTP/1.1 and WebSocket: events, clients that leave, early bytes, slow readers. */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { expect } from 'vitest'
import { CaseScene } from './harness/case-scene.ts'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { router, service } from './harness/fleet.ts'
import { echoTarget, type OriginConnection, say } from './harness/origins/scripted-origin.ts'
import { freePort } from './harness/ports.ts'
import { get, RawClient, type RawClientOptions } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'
import { TestCa } from './harness/test-ca.ts'

const { it, suite, before } = claims()
const MEBIBYTE = 1_048_576
const PATIENT = { withinMs: 10_000 }
let scene: CaseScene
let securePort: number

before(async () => {
  const ca = await TestCa.create()
  const issued = await ca.issue({ hosts: ['a.test'] })
  securePort = await freePort()
  scene = await CaseScene.start(suite, {
    documents: ([origin]) => [
      {
        kind: 'entry-point',
        name: 'web-tls',
        address: `127.0.0.1:${securePort}`,
        protocol: 'https',
      },
      { kind: 'certificate', name: 'a', source: 'uploaded', ...issued },
      service('single', [origin!.port], { connectionsMax: 1 }),
      router('single', 'single.test', 'single'),
    ],
  })
})

const PLACES = ['plain', 'TLS'] as const
function open(scope: Scope, place: (typeof PLACES)[number]): Promise<RawClient> {
  const tls = { servername: 'a.test', rejectUnauthorized: false }
  const options: RawClientOptions = place === 'TLS' ? { tls } : {}
  return RawClient.open(scope, place === 'TLS' ? securePort : scene.port, options)
}

const LINE_ENDS = { LF: '\n', CR: '\r', 'CR LF': '\r\n' }
for (const place of PLACES) {
  for (const [name, end] of Object.entries(LINE_ENDS)) {
    it(`D01: events that end in ${name} arrive one by one, each before the next is sent (${place})`, async (scope) => {
      const client = await open(scope, place)
      scene.origin.answer = async ({ connection: { socket } }) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n')
        socket.write('Transfer-Encoding: chunked\r\n\r\n')
        await client.untilReceived('text/event-stream')
        for (let index = 0; index < 5; index += 1) {
          const event = `data: event ${index}${end}${end}`
          socket.write(`${event.length.toString(16)}\r\n${event}\r\n`)
          await client.untilReceived(event)
        }
        socket.write('0\r\n\r\n')
      }
      const accept = 'Accept-Encoding: gzip, br, zstd\r\n'
      client.send(`GET /events HTTP/1.1\r\nHost: a.test\r\n${accept}\r\n`)
      const { body } = await client.answer(PATIENT)
      expect(body.toString().split(`${end}${end}`)).toHaveLength(6)
      await scene.expectNoDesync(scope)
    })
  }
}

const STREAM = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const LEAVING = {
  'a reset while the answer is awaited': ['', 'reset'],
  'a reset in the middle of an answer': [STREAM, 'reset'],
  'a close in the middle of an answer': [STREAM, 'close'],
} as const
for (const [name, [said, goodbye]] of Object.entries(LEAVING)) {
  it(`D02: ${name} ends the origin's connection, which is no failure of it`, async (scope) => {
    const client = await RawClient.open(scope, scene.port)
    const count = scene.origin.requests.length
    scene.origin.answer = say(said)
    client.send(get('a.test', '/left'))
    await scene.origin.untilRequests(count + 1)
    const { connection } = scene.origin.requests.at(-1)!
    if (said !== '') await client.untilReceived('200 OK')
    client[goodbye]()
    // A close is a FIN like a half-close: what the origin sends next is what finds out.
    await eventually(() => {
      if (said !== '') connection.socket.write('5\r\nhello\r\n')
      return connection.isClosed
    }, PATIENT)
    expect(scene.origin.requests.length - count).toBe(1)
    await scene.expectNoDesync(scope)
  })
}

it('D02: a client that half-closes after its request gets its answer', async (scope) => {
  const client = await RawClient.open(scope, scene.port)
  const count = scene.origin.requests.length
  scene.origin.answer = () => {}
  client.send(get('a.test', '/half')).end()
  await scene.origin.untilRequests(count + 1)
  echoTarget(scene.origin.requests.at(-1)!)
  expect((await client.answer()).body.toString()).toBe('/half')
  await client.untilEnded()
  await scene.expectNoDesync(scope)
})

it('D02: a client that leaves the queue for a connection is never dialled for', async (scope) => {
  const count = scene.origin.requests.length
  scene.origin.answer = () => {}
  const [busy, waiting] = [
    await RawClient.open(scope, scene.port),
    await RawClient.open(scope, scene.port),
  ]
  busy.send(get('single.test', '/busy'))
  await scene.origin.untilRequests(count + 1)
  const waits = (number: number) => async () =>
    (await scene.node.metric('exchanges_waiting')) === number
  waiting.send(get('single.test', '/waits'))
  await eventually(waits(1), PATIENT)
  waiting.reset()
  await eventually(waits(0), PATIENT)
  scene.origin.answer = echoTarget
  const behind = await RawClient.open(scope, scene.port)
  behind.send(get('single.test', '/behind'))
  echoTarget(scene.origin.requests.at(-1)!)
  expect((await busy.answer()).body.toString()).toBe('/busy')
  expect((await behind.answer()).body.toString()).toBe('/behind')
  expect(scene.origin.requests.slice(count).map(({ target }) => target)).not.toContain('/waits')
  await scene.expectNoDesync(scope)
})

const ROUNDS = 20
const UPGRADE =
  'GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const SWITCHING =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'
const bytesAfterHead = (bytes: Buffer) => bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)

/** One upgrade with bytes on the heels of both messages; what reached either side after its head. */
async function earlyRound(
  scope: Scope,
  place: (typeof PLACES)[number],
  fromClient: Buffer,
  fromOrigin: Buffer,
) {
  const { promise, resolve } = Promise.withResolvers<OriginConnection>()
  scene.origin.onConnection = (connection) => {
    connection.socket.once('data', () => resolve(connection))
  }
  scene.origin.closeConnections()
  const client = await open(scope, place)
  client.send(Buffer.concat([Buffer.from(UPGRADE), fromClient]))
  const connection = await promise
  scene.origin.onConnection = undefined
  const before = bytesAfterHead(connection.record.bytes).length
  connection.socket.write(Buffer.concat([Buffer.from(SWITCHING), fromOrigin]))
  await eventually(
    () => bytesAfterHead(connection.record.bytes).length === fromClient.length,
    PATIENT,
  )
  await eventually(() => bytesAfterHead(client.received).length === fromOrigin.length, PATIENT)
  const arrived = [bytesAfterHead(connection.record.bytes), bytesAfterHead(client.received)]
  client.close()
  return { before, isSame: fromClient.equals(arrived[0]!) && fromOrigin.equals(arrived[1]!) }
}

for (const place of PLACES) {
  for (const [name, clientBytes, originBytes, rounds] of [
    ['the request', 60, 0, ROUNDS],
    ['the 101', 0, 60, ROUNDS],
    ['both', 60, 60, ROUNDS],
    ['the request, 64 KB of them,', 65_000, 60, 3],
  ] as const) {
    it(`D03: bytes on the heels of ${name} arrive once, in order, and after the 101 (${place})`, async (scope) => {
      for (let round = 0; round < rounds; round += 1) {
        const result = await earlyRound(
          scope,
          place,
          randomBytes(clientBytes),
          randomBytes(originBytes),
        )
        expect(result).toEqual({ before: 0, isSame: true })
      }
      await scene.expectNoDesync(scope)
    })
  }
}

const FLOOD = 128 * MEBIBYTE
/** What the kernel of both connections may hold, and the node. */
const HELD_MAX = 40 * MEBIBYTE
for (const [name, request, head] of [
  ['an answer', get('a.test', '/flood'), `HTTP/1.1 200 OK\r\nContent-Length: ${FLOOD}\r\n\r\n`],
  ['a tunnel', UPGRADE, SWITCHING],
] as const) {
  it(`D07: a client that does not read ${name} stops the origin, and gets all of it once it reads`, async (scope) => {
    const block = Buffer.alloc(65_536, 'x')
    const flows: { readonly socket: Socket; readonly from: number }[] = []
    scene.origin.answer = ({ connection }) => {
      const { socket } = connection
      flows.push({ socket, from: socket.bytesWritten })
      socket.write(head)
      let left = FLOOD
      const pump = () => {
        while (left > 0) {
          left -= block.length
          if (!socket.write(block)) return
        }
      }
      socket.on('drain', pump)
      pump()
    }
    const client = await RawClient.open(scope, scene.port)
    client.socket.pause()
    client.send(request)
    await eventually(() => flows.length === 1, PATIENT)
    const { socket, from } = flows[0]!
    const sent = () => socket.bytesWritten - socket.writableLength - from
    let last = 0
    let times = 0
    // Nothing more for a while: all buffers on the way are full.
    await eventually(() => {
      times = sent() === last ? times + 1 : 0
      last = sent()
      return last > 0 && times === 15
    }, PATIENT)
    expect(sent()).toBeLessThan(HELD_MAX)
    const other = await RawClient.open(scope, scene.port)
    expect((await other.send(get('nobody.test', '/')).answer()).startLine).toMatch(/ 404 /)
    let length = 0
    client.socket.removeAllListeners('data')
    client.socket.on('data', (bytes) => {
      length += bytes.length
    })
    client.socket.resume()
    await eventually(() => length > FLOOD, { withinMs: 30_000, that: 'the whole flood' })
    socket.removeAllListeners('drain')
    client.close()
    await scene.expectNoDesync(scope)
  })
}

it('D10: the end of chunks is seen without a FIN of the origin', async (scope) => {
  const body = randomBytes(2 * MEBIBYTE)
  scene.origin.answer = ({ connection: { socket } }) => {
    socket.write(STREAM)
    const sizes = [1, 17, 1_400, 65_536, 4_096, 3, 30_000, 65_535]
    for (let at = 0, turn = 0; at < body.length; turn += 1) {
      const size = Math.min(sizes[turn % sizes.length]!, body.length - at)
      socket.write(`${size.toString(16)}\r\n`)
      socket.write(body.subarray(at, at + size))
      socket.write('\r\n')
      at += size
    }
    socket.write('0\r\n\r\n')
  }
  const client = await RawClient.open(scope, scene.port)
  const answer = await client.send(get('a.test', '/chunks')).answer(PATIENT)
  expect(answer.body.equals(body)).toBe(true)
  await scene.expectNoDesync(scope)
})
