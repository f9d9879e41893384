/**
 * Bodies of a gibibyte, in both directions, through one worker whose memory does not follow them. 256 MiB each
 * unless SLUICE_TEST_MEBIBYTES says otherwise; 1024 is what the project promises.
 */
import type { Socket } from 'node:net'
import { expect } from 'vitest'
import { PatternCheck, pour } from './harness/byte-pattern.ts'
import { CaseScene } from './harness/case-scene.ts'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import type { OriginConnection } from './harness/origins/scripted-origin.ts'
import { freePort } from './harness/ports.ts'
import { peakDuring, privateBytes } from './harness/private-memory.ts'
import { RawClient } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'
import { TestCa } from './harness/test-ca.ts'

const { it, suite, before } = claims()
const MEBIBYTE = 1_048_576
const LENGTH = Number(process.env.SLUICE_TEST_MEBIBYTES ?? 256) * MEBIBYTE
const WARM_LENGTH = 64 * MEBIBYTE
/** What garbage outside of the heap may come to before V8 collects it (64 MiB), whatever the length of the body. */
const GROWTH_MAX = 80 * MEBIBYTE
const TRANSFER = { withinMs: 60_000 }
let scene: CaseScene
let securePort: number

before(async () => {
  const ca = await TestCa.create()
  const issued = await ca.issue({ hosts: ['a.test'] })
  securePort = await freePort()
  const address = `127.0.0.1:${securePort}`
  scene = await CaseScene.start(suite, {
    documents: () => [
      { kind: 'entry-point', name: 'web-tls', address, protocol: 'https' },
      { kind: 'certificate', name: 'a', source: 'uploaded', ...issued },
    ],
  })
})

const PLACES = ['HTTP', 'HTTPS'] as const
type Place = (typeof PLACES)[number]

function open(scope: Scope, place: Place): Promise<RawClient> {
  if (place === 'HTTP') return RawClient.open(scope, scene.port)
  const tls = { servername: 'a.test', rejectUnauthorized: false }
  return RawClient.open(scope, securePort, { tls })
}

/** Gives what follows the head on a socket to a check, instead of keeping it. */
function checkBody(socket: Socket): PatternCheck {
  const check = new PatternCheck()
  let head = Buffer.alloc(0)
  let isBody = false
  socket.removeAllListeners('data')
  socket.on('data', (bytes: Buffer) => {
    if (isBody) return check.take(bytes)
    head = Buffer.concat([head, bytes])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    isBody = true
    check.take(head.subarray(end + 4))
  })
  return check
}

type Transfer = (scope: Scope, place: Place, length: number) => Promise<PatternCheck>

const upload: Transfer = async (scope, place, length) => {
  const { promise, resolve } = Promise.withResolvers<PatternCheck>()
  scene.origin.onConnection = ({ socket }: OriginConnection) => resolve(checkBody(socket))
  const client = await open(scope, place)
  client.send(`PUT /up HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${length}\r\n\r\n`)
  const [check] = await Promise.all([promise, pour(client.socket, length)])
  await eventually(() => check.length === length, TRANSFER)
  client.close()
  return check
}

const download: Transfer = async (scope, place, length) => {
  // One that was kept would answer as it was told before.
  scene.origin.closeConnections()
  scene.origin.onConnection = ({ socket }: OriginConnection) =>
    socket.on('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`)
      void pour(socket, length)
    })
  const client = await open(scope, place)
  const check = checkBody(client.socket)
  client.send('GET /down HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
  await eventually(() => check.length === length, TRANSFER)
  client.close()
  return check
}

for (const [name, transfer] of Object.entries({ upload, download })) {
  for (const place of PLACES) {
    it(
      `memory stays flat during a long ${name} over ${place}, which arrives byte for byte`,
      async (scope) => {
        const [worker = 0] = await scene.node.workerPids()
        await transfer(scope, place, WARM_LENGTH)
        const before = privateBytes(worker)
        const startedAt = performance.now()
        const peak = await peakDuring(worker, async () => {
          const { isSame, length } = await transfer(scope, place, LENGTH)
          expect({ isSame, length }).toEqual({ isSame: true, length: LENGTH })
        })
        const seconds = (performance.now() - startedAt) / 1_000
        process.stdout.write(
          `${name} of ${LENGTH / MEBIBYTE} MiB over ${place}: ${seconds.toFixed(1)} s, private memory ` +
            `${(before / MEBIBYTE).toFixed(1)} MiB before, at most ${(peak / MEBIBYTE).toFixed(1)} MiB\n`,
        )
        expect(peak - before).toBeLessThan(GROWTH_MAX)
      },
      TRANSFER,
    )
  }
}
