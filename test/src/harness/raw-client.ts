/** A client that sends exactly the bytes it is told to, over TCP or TLS, and keeps every byte that comes. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { ByteRecord } from './byte-record.ts'
import { bounded } from './eventually.ts'
import { type Message, messageAt } from './http-text.ts'
import type { Scope } from './scope.ts'
import { Watch } from './watch.ts'

const ANSWER_MS = 5_000

export interface RawClientOptions {
  readonly tls?: ConnectionOptions
}

export class RawClient {
  readonly socket: Socket
  readonly #received = new ByteRecord()
  readonly #watch = new Watch()
  #taken = 0
  #isEnded = false

  /** Ends with the scope. */
  static async open(
    scope: Scope,
    port: number,
    options: RawClientOptions = {},
  ): Promise<RawClient> {
    const target = { port, host: '127.0.0.1' }
    const socket =
      options.tls === undefined ? connect(target) : connectTls({ ...target, ...options.tls })
    scope.defer(() => socket.destroy())
    const connected = once(socket, options.tls === undefined ? 'connect' : 'secureConnect')
    await bounded(connected, ANSWER_MS, `a connection to port ${port}`)
    socket.setNoDelay(true)
    return new RawClient(socket)
  }

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (bytes: Buffer) => {
      this.#received.append(bytes)
      this.#watch.changed()
    })
    // A reset is one way to end; what came before it is what tests look at.
    socket.on('error', () => {})
    const end = () => {
      this.#isEnded = true
      this.#watch.changed()
    }
    socket.on('end', end).on('close', end)
  }

  /** Every byte so far. */
  get received(): Buffer {
    return this.#received.bytes
  }

  get text(): string {
    return this.received.toString('latin1')
  }

  /** The other side has said that it sends no more, or the connection is gone. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** A string is sent as latin1, one byte a character. */
  send(bytes: string | Uint8Array): this {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    return this
  }

  /** The next whole answer. */
  answer(
    options: { readonly isBodiless?: boolean; readonly withinMs?: number } = {},
  ): Promise<Message> {
    const { isBodiless = false, withinMs = ANSWER_MS } = options
    const that = () => `a whole answer; received: ${JSON.stringify(this.text.slice(-400))};`
    return this.#watch.until(() => this.#takeAnswer(isBodiless), withinMs, that)
  }

  async untilEnded(withinMs = ANSWER_MS): Promise<void> {
    const ended = () => this.#isEnded || undefined
    await this.#watch.until(ended, withinMs, () => 'the end of the connection')
  }

  async untilReceived(text: string, withinMs = ANSWER_MS): Promise<void> {
    const received = () => this.text.includes(text) || undefined
    await this.#watch.until(received, withinMs, () => `receiving ${text}`)
  }

  #takeAnswer(isBodiless: boolean): Message | undefined {
    const rest = this.received.subarray(this.#taken)
    const message = messageAt(rest, { kind: 'answer', isBodiless, isEnded: this.#isEnded })
    if (message !== undefined) this.#taken += message.bytes.length
    else if (this.#isEnded) throw new Error('the connection ended within an answer')
    return message
  }

  end(): void {
    this.socket.end()
  }

  reset(): void {
    this.socket.resetAndDestroy()
  }

  close(): void {
    this.socket.destroy()
  }
}

/** One request on a connection of its own. */
export async function exchange(scope: Scope, port: number, request: string): Promise<Message> {
  const client = await RawClient.open(scope, port)
  try {
    return await client.send(request).answer({ isBodiless: request.startsWith('HEAD ') })
  } finally {
    client.close()
  }
}

export function get(host: string, path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`
}
