/** A bare origin for tests: counts requests and writes whatever answer it is told, over TCP or TLS. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'

const HEAD_END = '\r\n\r\n'

/** `request`: how many came before it, in all and on its connection. */
export type Answer = (socket: Socket, request: { total: number; onConnection: number }) => void

export interface Origin extends AsyncDisposable {
  readonly port: number
  readonly requests: () => number
  /** The first bytes of each request that came last. */
  readonly lastRequest: () => string
}

export async function startOrigin(
  answer: Answer,
  tls?: { readonly key: string; readonly cert: string },
): Promise<Origin> {
  const sockets = new Set<Socket>()
  let total = 0
  let last = ''
  const serve = (socket: Socket): void => {
    let onConnection = 0
    let waiting = ''
    sockets.add(socket)
    socket.setNoDelay(true)
    // The generator may close while an answer is under way: that is its business.
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (bytes) => {
      waiting += bytes.toString('latin1')
      for (let end = waiting.indexOf(HEAD_END); end !== -1; end = waiting.indexOf(HEAD_END)) {
        const length = /content-length: (\d+)/i.exec(waiting.slice(0, end))
        const requestEnd = end + HEAD_END.length + Number(length?.[1] ?? 0)
        if (waiting.length < requestEnd) return
        last = waiting.slice(0, requestEnd)
        waiting = waiting.slice(requestEnd)
        answer(socket, { total, onConnection })
        total += 1
        onConnection += 1
      }
    })
  }
  const server: Server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => total,
    lastRequest: () => last,
    [Symbol.asyncDispose]: async () => {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}

export const BODY_BYTES = 64

export function answerOf(
  status: number,
  body: string = 'x'.repeat(BODY_BYTES),
  fields = '',
): string {
  return `HTTP/1.1 ${status} Said\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`
}
