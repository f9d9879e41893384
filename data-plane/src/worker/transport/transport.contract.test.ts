/** What every Transport promises, held against all of them. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import {
  connect as connectTls,
  createSecureContext,
  createServer as createTlsServer,
} from 'node:tls'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { limits } from '../../limits.ts'
import { TEST_CHAIN_PEM, TEST_KEY_PEM } from '../../testing/certificate.ts'
import { DeadlineSweep } from '../deadline-sweep.ts'
import { TlsHandshake } from '../listeners/tls-handshake.ts'
import { LargeWriters } from './large-writers.ts'
import { SocketTransport } from './socket-transport.ts'
import { type StreamHandle, streamInternals } from './stream-internals.ts'
import { TcpTransport } from './tcp-transport.ts'
import { nativeContext, type TlsHandle } from './tls-internals.ts'
import { TlsTransport } from './tls-transport.ts'
import { type Transport, type TransportListener, WriteResult } from './transport.ts'

class Recorder implements TransportListener {
  received = ''
  length = 0
  readonly events: string[] = []
  onBytes(bytes: Buffer, length: number): void {
    this.length += length
    if (this.length < 100_000) this.received += bytes.toString('latin1', 0, length)
  }
  onEnd(): void {
    this.events.push('end')
  }
  onWritable(): void {
    this.events.push('writable')
  }
  onClosed(code: string): void {
    this.events.push(`closed ${code}`)
  }
}

type Make = (socket: Socket, listener: TransportListener) => Transport | Promise<Transport>

function handleOf(socket: Socket): StreamHandle {
  const handle: StreamHandle | undefined = Reflect.get(socket, '_handle')
  if (handle === undefined || streamInternals === undefined) throw new Error('no handles here')
  return handle
}

const kinds: [string, boolean, Make][] = [
  ['TcpTransport', false, (socket, listener) => new TcpTransport(handleOf(socket), listener)],
  ['SocketTransport over TCP', false, (socket, listener) => new SocketTransport(socket, listener)],
  ['SocketTransport over TLS', true, (socket, listener) => new SocketTransport(socket, listener)],
  ['TlsTransport', true, shakeHands],
]

const context = nativeContext(createSecureContext({ cert: TEST_CHAIN_PEM, key: TEST_KEY_PEM }))

const largeWriters = new LargeWriters()

function shakeHands(socket: Socket, listener: TransportListener): Promise<Transport> {
  const { promise, resolve, reject } = Promise.withResolvers<Transport>()
  const handle = handleOf(socket)
  const parts = {
    deadlines: new DeadlineSweep(() => performance.now()),
    context: () => context,
    contextFor: () => context,
  }
  const outcome = {
    onSecure: (tls: TlsHandle) => {
      resolve(new TlsTransport({ handle, tls, largeWriters, onReleased: undefined }, listener))
    },
    onFailed: () => reject(new Error('no handshake')),
  }
  new TlsHandshake(handle, parts, outcome).start(Buffer.alloc(0))
  return promise
}

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

interface Pair {
  readonly transport: Transport
  readonly recorder: Recorder
  readonly peer: Socket
  readonly peerEvents: string[]
}

async function open(isTls: boolean, make: Make): Promise<Pair> {
  const recorder = new Recorder()
  const { promise, resolve } = Promise.withResolvers<Transport>()
  const take = async (socket: Socket) => {
    const transport = await make(socket, recorder)
    transport.start()
    resolve(transport)
  }
  const tls = { cert: TEST_CHAIN_PEM, key: TEST_KEY_PEM, allowHalfOpen: true }
  const server =
    isTls && make !== shakeHands
      ? createTlsServer(tls, take)
      : createServer({ allowHalfOpen: true, pauseOnConnect: true }, take)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const where = { port, host: '127.0.0.1', allowHalfOpen: true }
  const peer = isTls ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where)
  const peerEvents: string[] = []
  peer.on('error', (error: NodeJS.ErrnoException) => peerEvents.push(error.code ?? 'error'))
  peer.on('end', () => peerEvents.push('end'))
  peer.on('close', () => peerEvents.push('close'))
  cleanups.push(() => {
    peer.destroy()
    server.close()
  })
  const transport = await promise
  cleanups.push(() => transport.destroy())
  return { transport, recorder, peer, peerEvents }
}

function send(transport: Transport, text: string): number {
  const bytes = Buffer.from(text, 'latin1')
  return transport.write(bytes, bytes.length)
}

async function textOf(peer: Socket): Promise<string> {
  let text = ''
  for await (const bytes of peer) text += String(bytes)
  return text
}

describe.each(kinds)('%s', (_name, isTls, make) => {
  it('takes and gives bytes in order, and knows its peer', async () => {
    const { transport, recorder, peer } = await open(isTls, make)
    expect(transport.remoteAddress).toBe('127.0.0.1')
    peer.write('one')
    peer.write('two')
    await vi.waitFor(() => expect(recorder.received).toBe('onetwo'))
    for (const text of ['a', 'b', 'c']) send(transport, text)
    transport.end()
    expect(await textOf(peer)).toBe('abc')
  })

  it('lets go of a buffer that it did not keep', async () => {
    const { transport, peer } = await open(isTls, make)
    let bytes = Buffer.alloc(1_000)
    for (let turn = 0; turn < 200; turn += 1) {
      bytes.fill(65 + (turn % 26))
      if (transport.write(bytes, bytes.length) === WriteResult.KEPT) bytes = Buffer.alloc(1_000)
    }
    bytes.fill(0)
    transport.end()
    const expected = Array.from({ length: 200 }, (_, turn) =>
      String.fromCharCode(65 + (turn % 26)).repeat(1_000),
    )
    expect(await textOf(peer)).toBe(expected.join(''))
  })

  it('delivers megabytes byte for byte, whatever the size of the writes', async () => {
    const { transport, recorder, peer } = await open(isTls, make)
    const [sent, received] = [createHash('sha256'), createHash('sha256')]
    peer.on('data', (bytes: Buffer) => received.update(bytes))
    const sizes = [1, 100, 16_255, 16_256, 16_257, 40_000, 65_536]
    for (let turn = 0; turn < 100; turn += 1) {
      const bytes = randomBytes(sizes[turn % sizes.length] ?? 1)
      sent.update(bytes)
      const before = recorder.events.length
      if (transport.write(bytes, bytes.length) === WriteResult.DONE) continue
      await vi.waitFor(() => expect(recorder.events.length).toBeGreaterThan(before))
    }
    transport.end()
    await once(peer, 'end')
    expect(received.digest('hex')).toBe(sent.digest('hex'))
  })

  it('says when it is behind and when it no longer is, and delivers everything', async () => {
    const { transport, recorder, peer } = await open(isTls, make)
    peer.pause()
    let sent = 0
    let result: number = WriteResult.DONE
    while (result === WriteResult.DONE && sent < 200_000_000) {
      result = transport.write(Buffer.alloc(65_536, 'x'), 65_536)
      sent += 65_536
      await new Promise(setImmediate)
    }
    expect(result).not.toBe(WriteResult.DONE)
    let length = 0
    peer.on('data', (bytes: Buffer) => {
      length += bytes.length
    })
    peer.resume()
    await vi.waitFor(() => expect(recorder.events).toContain('writable'), { timeout: 5_000 })
    transport.end()
    await vi.waitFor(() => expect(length).toBe(sent), { timeout: 5_000 })
  })

  it('reads nothing while it is paused', async () => {
    const { transport, recorder, peer } = await open(isTls, make)
    peer.write('first')
    await vi.waitFor(() => expect(recorder.length).toBe(5))
    transport.pause()
    peer.write('second')
    send(transport, 'through')
    const [bytes] = await once(peer, 'data')
    expect([String(bytes), recorder.length]).toEqual(['through', 5])
    transport.resume()
    await vi.waitFor(() => expect(recorder.received).toBe('firstsecond'))
  })

  it('tells of the half-close of its peer and can still write', async () => {
    const { transport, recorder, peer } = await open(isTls, make)
    peer.end('bye')
    await vi.waitFor(() => expect(recorder.events).toEqual(['end']))
    expect(recorder.received).toBe('bye')
    send(transport, 'answer')
    transport.end()
    expect(await textOf(peer)).toBe('answer')
  })

  it('finishes by itself after what was written, and says so once', async () => {
    const { transport, recorder, peer } = await open(isTls, make)
    send(transport, 'x'.repeat(50_000))
    transport.finish()
    expect((await textOf(peer)).length).toBe(50_000)
    await vi.waitFor(() => expect(recorder.events).toContain('closed '))
    expect(recorder.events.filter((event) => event !== 'writable')).toEqual(['closed '])
  })

  it.each(['end', 'finish'] as const)(
    'says at %s that bytes wait, and when they are gone',
    async (how) => {
      const { transport, recorder, peer } = await open(isTls, make)
      peer.pause()
      let sent = 0
      while (transport.write(Buffer.alloc(65_536, 'x'), 65_536) === WriteResult.DONE) {
        sent += 65_536
        await new Promise(setImmediate)
      }
      sent += 65_536
      expect(transport[how]()).toBe(false)
      const before = recorder.events.length
      peer.resume()
      let length = 0
      peer.on('data', (bytes: Buffer) => {
        length += bytes.length
      })
      await once(peer, 'end')
      expect(length).toBe(sent)
      await vi.waitFor(() => expect(recorder.events.slice(before)).toContain('writable'))
    },
  )

  it('has nothing that waits when it is done', async () => {
    const { transport } = await open(isTls, make)
    transport.destroy()
    expect([transport.end(), transport.finish()]).toEqual([true, true])
  })

  it.each(['destroy', 'reset'] as const)('calls nobody any more after %s', async (how) => {
    const { transport, recorder, peerEvents } = await open(isTls, make)
    transport[how]()
    await vi.waitFor(() => expect(peerEvents.length).toBeGreaterThan(0))
    send(transport, 'into the void')
    transport.end()
    transport.finish()
    transport.resume()
    await new Promise(setImmediate)
    expect(recorder.events).toEqual([])
  })

  // Through TLS a test cannot make the peer reset its socket: node:tls ends it in order.
  it.skipIf(isTls)('tells of a peer that resets', async () => {
    const { recorder, peer } = await open(isTls, make)
    peer.resetAndDestroy()
    await vi.waitFor(() => expect(recorder.events).toEqual(['closed ECONNRESET']))
  })
})

it('a TLS connection that sends much takes one of the places for that, until it is closed', async () => {
  for (let count = 1; count < limits.tlsLargeWritersMax; count += 1) largeWriters.enter()
  const { transport, peer } = await open(true, shakeHands)
  peer.resume()
  const bytes = Buffer.alloc(65_536)
  const isTaken = () => {
    transport.write(bytes, bytes.length)
    if (!largeWriters.enter()) return true
    largeWriters.leave()
    return false
  }
  expect(isTaken()).toBe(false)
  await vi.waitFor(() => expect(isTaken()).toBe(true), { timeout: 5_000 })
  transport.destroy()
  expect(largeWriters.enter()).toBe(true)
})
