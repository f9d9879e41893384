import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { SocketTransport } from './socket-transport.ts'
import type { TransportListener } from './transport.ts'

/** Two ends of one connection on this machine. */
async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const [near] = (await once(server, 'connection')) as [Socket]
  server.close()
  return [near, far]
}

describe('SocketTransport.end', () => {
  it('says that bytes still wait, and onWritable says when they are gone', async () => {
    const [near, far] = await socketPair()
    const listener: TransportListener = {
      onBytes() {},
      onEnd() {},
      onWritable: vi.fn(),
      onClosed() {},
    }
    const transport = new SocketTransport(near, listener)
    transport.start()
    const bytes = Buffer.alloc(65_536, 'x')
    far.pause()
    let written = 0
    while (near.writableLength === 0) {
      transport.write(bytes, bytes.length)
      written += bytes.length
      await new Promise(setImmediate)
    }
    expect(transport.end()).toBe(false)
    expect(listener.onWritable).not.toHaveBeenCalled()
    let received = 0
    far.on('data', (part) => {
      received += part.length
    })
    far.resume()
    await once(far, 'end')
    expect(received).toBe(written)
    await vi.waitFor(() => expect(listener.onWritable).toHaveBeenCalledOnce())
    transport.destroy()
    far.destroy()
  })
})
