/**
 * One connection to the target: opened when a request needs it or ahead of it, one request in flight, and
 * opened again after it ended. It tells its owner how each request ended, exactly once. Hot: send, onread.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import { AnswerReader, Reading } from './answer-reader.ts'
import type { Endpoint } from './endpoint.ts'

export type Ending = 'answered' | 'connect' | 'read' | 'write' | 'timeout'

export interface ConnectionOwner {
  nowUs(): number
  /** The request of this lane ended; `connection` has its answer and the time it was written. */
  onEnd(lane: number, ending: Ending, connection: Connection): void
  onOpened(): void
  onHandshake(isResumed: boolean): void
  /** This machine had no port or no descriptor left for a connection: no fault of the target. */
  onExhausted(what: 'ports' | 'files'): void
}

/** Reads are handled where they arrive, one after another, so that all connections share their memory. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536)

const LACKING: Readonly<Record<string, 'ports' | 'files'>> = {
  EADDRNOTAVAIL: 'ports',
  EMFILE: 'files',
  ENFILE: 'files',
}

const NOTHING = Buffer.alloc(0)

export class Connection {
  readonly answer: AnswerReader
  /** When its present request was written. */
  sentUs = 0
  readonly #lane: number
  readonly #endpoint: Endpoint
  readonly #owner: ConnectionOwner
  #socket: Socket | undefined
  #isOpen = false
  #openingUs = 0
  #isBusy = false
  /** The request that waits for the connection to open. */
  #request: Buffer = NOTHING
  #isChecked = false
  #onOpened: (() => void) | undefined

  constructor(lane: number, endpoint: Endpoint, owner: ConnectionOwner) {
    this.#lane = lane
    this.#endpoint = endpoint
    this.#owner = owner
    this.answer = new AnswerReader(endpoint.pattern)
  }

  /** Resolves when it is open, or could not be. */
  async opened(): Promise<void> {
    if (this.#isOpen) return
    const opened = Promise.withResolvers<void>()
    this.#onOpened = opened.resolve
    this.open()
    await opened.promise
  }

  send(request: Buffer, isChecked: boolean): void {
    this.#isBusy = true
    this.#request = request
    this.#isChecked = isChecked
    if (this.#isOpen) this.#write()
    else this.open()
  }

  open(): void {
    if (this.#socket !== undefined) return
    this.#openingUs = this.#owner.nowUs()
    const socket = this.#connect()
    this.#socket = socket
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const lacking = LACKING[error.code ?? '']
      if (lacking !== undefined) this.#owner.onExhausted(lacking)
      this.#onGone(socket, error.syscall === 'write' ? 'write' : 'read')
    })
    socket.on('close', () => this.#onGone(socket, 'read'))
    socket.on('end', () => this.#onEnd(socket))
  }

  /** Ends what takes longer than a request may; true where something did. */
  expire(beforeUs: number): void {
    const isOpening = this.#socket !== undefined && !this.#isOpen
    if (!this.#isBusy && !isOpening) return
    if ((isOpening ? this.#openingUs : this.sentUs) > beforeUs) return
    this.close()
    if (this.#isBusy) this.#settle(isOpening ? 'connect' : 'timeout')
  }

  close(): void {
    const socket = this.#socket
    this.#socket = undefined
    this.#isOpen = false
    this.#onOpened?.()
    socket?.destroy()
  }

  #connect(): Socket {
    const { address, port, localAddress, tls } = this.#endpoint
    const onread = { buffer: READ_BUFFER, callback: this.#onRead }
    const to = { host: address, port, localAddress, noDelay: true, onread }
    if (tls === undefined) {
      const socket = connectTcp(to, () => this.#onOpen(socket))
      return socket
    }
    // onread is read by tls.connect, as documented, but missing from its type.
    const options: ConnectionOptions & Pick<typeof to, 'onread'> = {
      ...to,
      servername: tls.serverName,
      secureContext: tls.context,
      ALPNProtocols: ['http/1.1'],
      session: tls.tickets.take(),
    }
    const socket = connectTls(options, () => this.#onSecure(socket))
    socket.on('session', (ticket: Buffer) => tls.tickets.put(ticket))
    return socket
  }

  #onSecure(socket: TLSSocket): void {
    this.#owner.onHandshake(socket.isSessionReused())
    this.#onOpen(socket)
  }

  #onOpen(socket: Socket): void {
    if (socket !== this.#socket) return
    this.#isOpen = true
    this.#owner.onOpened()
    this.#onOpened?.()
    if (this.#isBusy) this.#write()
  }

  #write(): void {
    this.answer.begin(this.#isChecked)
    this.sentUs = this.#owner.nowUs()
    this.#socket?.write(this.#request)
  }

  readonly #onRead = (length: number, buffer: Uint8Array): boolean => {
    // Bytes that nobody asked for: the next answer could not be told from them.
    if (!this.#isBusy) this.close()
    else this.#onReading(this.answer.read(buffer, length))
    return true
  }

  #onReading(reading: Reading): void {
    if (reading === Reading.MORE) return
    if (reading === Reading.BAD || !this.answer.isKept || this.#endpoint.isForOneRequest) {
      this.close()
    }
    this.#settle(reading === Reading.BAD ? 'read' : 'answered')
  }

  #onEnd(socket: Socket): void {
    if (socket !== this.#socket) return
    this.close()
    if (this.#isBusy) this.#settle(this.answer.end() === Reading.WHOLE ? 'answered' : 'read')
  }

  #onGone(socket: Socket, ending: 'read' | 'write'): void {
    if (socket !== this.#socket) return
    const wasOpen = this.#isOpen
    this.close()
    if (this.#isBusy) this.#settle(wasOpen ? ending : 'connect')
  }

  #settle(ending: Ending): void {
    this.#isBusy = false
    this.#owner.onEnd(this.#lane, ending, this)
  }
}
