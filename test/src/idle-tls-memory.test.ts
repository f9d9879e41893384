/** What an idle TLS connection costs a worker, after it has carried something (data-plane/README.md has the bound). */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { router, service } from './harness/fleet.ts'
import { freePort } from './harness/ports.ts'
import { privateBytes } from './harness/private-memory.ts'
import type { Scope } from './harness/scope.ts'
import { StaticNode } from './harness/static-node.ts'
import { TestCa } from './harness/test-ca.ts'

const { it } = claims()
const BODY = Buffer.alloc(100_000, 'x')
const ADDED = 600
/** They come before what is counted: the worker's code is compiled and its heap has its size. */
const WARM = 300
const AT_ONCE = 16
const KIBIBYTE = 1_024
const BOUND_KIB = 64
/** Garbage is collected late on a busy machine. */
const SETTLED = { withinMs: 20_000 }

const DOWNLOAD = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'
const UPLOAD = `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${BODY.length}\r\n\r\n`

/** GET: 100 KB; anything else: nothing, once its body is there. */
async function startOrigin(scope: Scope): Promise<number> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume()
    incoming.on('end', () => outgoing.end(incoming.method === 'GET' ? BODY : ''))
  })
  server.keepAliveTimeout = SETTLED.withinMs * 3
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  scope.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function startNode(scope: Scope): Promise<{ port: number; worker: number }> {
  const port = await freePort()
  const ca = await TestCa.create()
  const issued = await ca.issue({ hosts: ['a.test'] })
  const node = await StaticNode.start(scope, {
    documents: [
      { kind: 'entry-point', name: 'web', address: `127.0.0.1:${port}`, protocol: 'https' },
      { kind: 'certificate', name: 'a', source: 'uploaded', ...issued },
      service('a', [await startOrigin(scope)]),
      router('a', 'a.test', 'a'),
    ],
  })
  const [worker = 0] = await node.workerPids()
  return { port, worker }
}

async function exchange(port: number, head: string, body: Buffer): Promise<TLSSocket> {
  const to = { port, host: '127.0.0.1', servername: 'a.test', rejectUnauthorized: false }
  const socket = connect(to)
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  socket.on('error', reject)
  socket.on('close', () => reject(new Error('the connection was closed')))
  let length = 0
  socket.on('data', (bytes: Buffer) => {
    length += bytes.length
    if (body.length > 0 || length > BODY.length) resolve(socket)
  })
  socket.write(head)
  if (body.length > 0) socket.write(body)
  return promise
}

const CARRIED: readonly [string, string, Buffer][] = [
  ['answers', DOWNLOAD, Buffer.alloc(0)],
  ['uploads', UPLOAD, BODY],
]

for (const [what, head, body] of CARRIED) {
  it(
    `an idle TLS connection has at most ${BOUND_KIB} KiB after ${what} of 100 KB`,
    async (scope) => {
      const { port, worker } = await startNode(scope)
      const held: TLSSocket[] = []
      scope.defer(() => {
        for (const socket of held) socket.destroy()
      })
      const hold = async (count: number) => {
        const wanted = held.length + count
        let opened = held.length
        const lane = async () => {
          while (opened < wanted) {
            opened += 1
            held.push(await exchange(port, head, body))
          }
        }
        await Promise.all(Array.from({ length: AT_ONCE }, lane))
      }
      await hold(WARM)
      const before = privateBytes(worker)
      await hold(ADDED)
      const each = () => (privateBytes(worker) - before) / ADDED / KIBIBYTE
      await eventually(() => {
        expect(each()).toBeLessThanOrEqual(BOUND_KIB)
        return true
      }, SETTLED)
      process.stdout.write(`an idle TLS connection after ${what}: ${each().toFixed(1)} KiB\n`)
      expect(held.filter(({ closed }) => closed)).toEqual([])
    },
    { withinMs: 90_000 },
  )
}
