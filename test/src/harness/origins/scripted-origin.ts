/**
 * An origin that does what a test says and records every connection, byte and request. Unless told
 * otherwise it answers 200 with the request target as the body.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { ByteRecord } from '../byte-record.ts'
import { type Message, messageAt } from '../http-text.ts'
import type { Scope } from '../scope.ts'
import { Watch } from '../watch.ts'

export interface OriginConnection {
  readonly socket: Socket
  /** Every byte that came on it. */
  readonly record: ByteRecord
  isClosed: boolean
}

export interface OriginRequest extends Message {
  readonly method: string
  readonly target: string
  readonly connection: OriginConnection
}

export type Answer = (request: OriginRequest) => void

export class ScriptedOrigin {
  readonly port: number
  readonly connections: OriginConnection[] = []
  readonly requests: OriginRequest[] = []
  /** Called for each whole request. */
  answer: Answer = echoTarget
  /** When set: called for each connection in place of reading requests. */
  onConnection: ((connection: OriginConnection) => void) | undefined
  readonly #server: Server
  readonly #watch = new Watch()

  static async start(scope: Scope): Promise<ScriptedOrigin> {
    const server = createServer({ noDelay: true, allowHalfOpen: true })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const origin = new ScriptedOrigin(server)
    scope.defer(() => origin.close())
    return origin
  }

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    server.on('connection', (socket) => this.#accept(socket))
  }

  /** All bytes that came, on any connection. */
  get received(): string {
    return this.connections.map((one) => one.record.bytes.toString('latin1')).join('')
  }

  async untilRequests(count: number, withinMs = 5_000): Promise<void> {
    const arrived = () => this.requests.length >= count || undefined
    await this.#watch.until(arrived, withinMs, () => `${count} requests at the origin`)
  }

  /** From here on what comes on the connection are requests, as usual. */
  readRequests(connection: OriginConnection): void {
    let taken = connection.record.length
    connection.socket.on('data', () => {
      taken = this.#takeRequests(connection, taken)
    })
  }

  /** Connections that are open now. */
  get openCount(): number {
    return this.connections.filter(({ isClosed }) => !isClosed).length
  }

  /** Ends the connections that there are; new ones are taken. */
  closeConnections(): void {
    for (const connection of this.connections) connection.socket.destroy()
  }

  close(): void {
    this.closeConnections()
    this.#server.close()
  }

  #accept(socket: Socket): void {
    const connection: OriginConnection = { socket, record: new ByteRecord(), isClosed: false }
    this.connections.push(connection)
    const { onConnection } = this
    socket.on('data', (bytes: Buffer) => connection.record.append(bytes))
    // A reset by the proxy is something that tests provoke; the record is what they look at.
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      connection.isClosed = true
    })
    if (onConnection === undefined) this.readRequests(connection)
    else onConnection(connection)
  }

  #takeRequests(connection: OriginConnection, from: number): number {
    let at = from
    for (;;) {
      const message = messageAt(connection.record.bytes.subarray(at), { kind: 'request' })
      if (message === undefined) return at
      at += message.bytes.length
      const [method = '', target = ''] = message.startLine.split(' ')
      const request = { ...message, method, target, connection }
      this.requests.push(request)
      this.#watch.changed()
      this.answer(request)
    }
  }
}

export const echoTarget: Answer = ({ connection, target, method }) => {
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${target.length}\r\n\r\n`
  connection.socket.write(method === 'HEAD' ? head : `${head}${target}`)
}

/** Writes the bytes as they are, then ends or resets if told so. */
export function say(bytes: string, then: 'stay' | 'end' | 'reset' = 'stay'): Answer {
  return ({ connection: { socket } }) => {
    socket.write(Buffer.from(bytes, 'latin1'), () => {
      if (then === 'end') socket.end()
      if (then === 'reset') socket.resetAndDestroy()
    })
  }
}
