/** A server on a free port whose every byte the test decides, and a client that sends exact bytes. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

export interface RawRequest {
  readonly head: string
  readonly body: string
  /** 1 for the first request of its connection. */
  readonly turn: number
  readonly socket: Socket
}

/** Answers one request; the body is there as far as its Content-Length says. */
export type Respond = (request: RawRequest) => void

export class RawOrigin {
  readonly requests: RawRequest[] = []
  connectionCount = 0
  respond: Respond
  /** Set: each connection begins with a PROXY protocol header, which is given here: the line, or the bytes. */
  onConnectionStart: ((header: string) => void) | undefined
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(respond: Respond) {
    this.respond = respond
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#take(socket))
  }

  static async start(respond: Respond, host = '127.0.0.1', port = 0): Promise<RawOrigin> {
    const origin = new RawOrigin(respond)
    origin.#server.listen(port, host)
    await once(origin.#server, 'listening')
    return origin
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get openCount(): number {
    return this.#sockets.size
  }

  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  stop(): void {
    this.closeConnections()
    this.#server.close()
  }

  #take(socket: Socket): void {
    this.connectionCount += 1
    this.#sockets.add(socket)
    let received = ''
    let turn = 0
    let isStarted = this.onConnectionStart === undefined
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('end', () => socket.end())
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      if (!isStarted) {
        const length = headerLength(received)
        if (length === 0) return
        this.onConnectionStart?.(received.slice(0, length).replace(/\r\n$/, ''))
        received = received.slice(length)
        isStarted = true
      }
      for (;;) {
        const end = received.indexOf('\r\n\r\n')
        if (end === -1) return
        const head = received.slice(0, end + 4)
        const length = Number(/\r\nContent-Length: (\d+)/i.exec(head)?.[1] ?? 0)
        if (received.length < head.length + length) return
        const body = received.slice(head.length, head.length + length)
        received = received.slice(head.length + length)
        turn += 1
        const request = { head, body, turn, socket }
        this.requests.push(request)
        this.respond(request)
      }
    })
  }
}

/** Of a PROXY protocol header; 0: it is not whole. */
function headerLength(text: string): number {
  if (!text.startsWith('\r')) return text.indexOf('\r\n') + 2
  return text.length < 16 ? 0 : 16 + text.charCodeAt(14) * 256 + text.charCodeAt(15)
}

export const answerOk: Respond = ({ socket, body }) => {
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length + 2}\r\n\r\nok${body}`)
}

/** A port that refuses connections. */
export async function refusedPort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export class RawClient {
  readonly socket: Socket
  received = ''
  hasEnded = false
  /** Its end came, or a reset. */
  isOver = false

  private constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    this.socket.on('error', () => {})
    this.socket.on('data', (bytes) => {
      this.received += bytes.toString('latin1')
    })
    this.socket.on('end', () => {
      this.hasEnded = true
      this.isOver = true
    })
    this.socket.on('close', () => {
      this.isOver = true
    })
  }

  static async open(port: number): Promise<RawClient> {
    const client = new RawClient(port)
    await once(client.socket, 'connect')
    return client
  }

  send(text: string): void {
    this.socket.write(text, 'latin1')
  }

  /** Sends, and resolves with what comes next, in one piece. */
  async answerTo(text: string): Promise<string> {
    const from = this.received.length
    this.send(text)
    await once(this.socket, 'data')
    return this.received.slice(from)
  }

  /** Resolves with all that came when the other side has ended. */
  async over(): Promise<string> {
    if (!this.isOver) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.socket.once('end', resolve)
      this.socket.once('close', () => resolve())
      await promise
    }
    return this.received
  }

  /** Sends, half-closes, and resolves with all that comes until the other side ends. */
  async exchange(text: string): Promise<string> {
    this.socket.end(text, 'latin1')
    await once(this.socket, 'close')
    return this.received
  }

  close(): void {
    this.socket.destroy()
  }
}
