/**
 * A client's TLS handshake, from the accept to the first byte of HTTP. It costs no TLS until the client has sent
 * something, and is due within one deadline. Owns the handle until it is done; ends in one call.
 */
import { limits } from '../../limits.ts'
import { type Deadline, type DeadlineSweep, NEVER } from '../deadline-sweep.ts'
import { readBuffer } from '../transport/read-buffer.ts'
import { type StreamHandle, streamInternals } from '../transport/stream-internals.ts'
import { type NativeContext, type TlsHandle, wrapTls } from '../transport/tls-internals.ts'
import { sendUnrecognizedName } from './tls-alert.ts'

/** "http/1.1", its length before it (RFC 7301 section 3.1). */
const PROTOCOLS = Buffer.from('\x08http/1.1', 'latin1')

/**
 * The handle makes a buffer for received bytes as large as what comes first, but at least 1,024 bytes, and a
 * second one of 16 KiB when that was filled to its end; it keeps both. Most requests fit into the first.
 */
const FIRST_PIECE_BYTES = 1_023

export interface HandshakeParts {
  readonly deadlines: DeadlineSweep
  /** For a client that names no server. */
  context(): NativeContext | undefined
  /** undefined: the name is refused. */
  contextFor(serverName: string): NativeContext | undefined
}

export interface HandshakeListener {
  /** Both handles are the listener's now; they are read from, and the next bytes come after this call. */
  onSecure(tls: TlsHandle): void
  /** The connection is closed. */
  onFailed(): void
}

export class TlsHandshake implements Deadline {
  deadlineAt: number
  sweepIndex = -1
  readonly #handle: StreamHandle
  readonly #parts: HandshakeParts
  readonly #listener: HandshakeListener
  readonly #onReleased: (() => void) | undefined
  #tls: TlsHandle | undefined
  #isOver = false

  /** `onReleased`: called when the descriptor of a failed handshake is closed. */
  constructor(
    handle: StreamHandle,
    parts: HandshakeParts,
    listener: HandshakeListener,
    onReleased?: () => void,
  ) {
    this.#handle = handle
    this.#parts = parts
    this.#listener = listener
    this.#onReleased = onReleased
    this.deadlineAt = parts.deadlines.after(limits.handshakeTimeoutMs)
    parts.deadlines.add(this)
    handle.sluiceTransport = this
    handle.onread = onFirstRead
    handle.useUserBuffer(readBuffer)
  }

  /** `early`: bytes that were read already. */
  start(early: Buffer): void {
    const error = this.#handle.readStart()
    if (error !== 0) this.fail()
    else if (early.length > 0) this.take(early)
  }

  onDeadline(): void {
    this.fail()
  }

  /** The client's first bytes: only now it is worth a TLS connection. */
  take(bytes: Buffer): void {
    const context = this.#parts.context()
    if (this.#isOver || this.#tls !== undefined || wrapTls === undefined || context === undefined) {
      return
    }
    const tls = wrapTls(this.#handle, context, true, false)
    this.#tls = tls
    // From here on the TLS handle takes what is read.
    this.#handle.onread = ignore
    this.#handle.setNoDelay(true)
    tls.sluiceTransport = this
    tls.onread = onDecrypted
    tls.onerror = onError
    tls.onhandshakedone = onDone
    tls.oncertcb = onHello
    tls.enableCertCb()
    tls.setALPNProtocols(PROTOCOLS)
    tls.useUserBuffer(readBuffer)
    // The read buffer may be used again meanwhile.
    const hello = Buffer.from(bytes)
    for (let at = 0; at < hello.length && !this.#isOver; at += FIRST_PIECE_BYTES) {
      tls.receive(hello.subarray(at, at + FIRST_PIECE_BYTES))
    }
  }

  /** The client left, or there is no way on. */
  fail(): void {
    if (!this.#finish()) return
    this.#handle.close(() => {
      this.#tls?.destroySSL()
      this.#onReleased?.()
    })
    this.#listener.onFailed()
  }

  chooseCertificate(tls: TlsHandle, serverName: string): void {
    if (this.#isOver) return
    if (serverName) {
      const context = this.#parts.contextFor(serverName)
      if (context === undefined) {
        sendUnrecognizedName(this.#handle)
        this.fail()
        return
      }
      tls.sni_context = context
    }
    try {
      tls.certCbDone()
    } catch {
      // The chosen certificate cannot be used with this connection.
      this.fail()
    }
  }

  done(tls: TlsHandle): void {
    if (!this.#finish()) return
    // OpenSSL would call it again for each ticket that it sends.
    tls.onhandshakedone = ignore
    // Nothing is to hold this object for as long as the connection lives.
    this.#handle.sluiceTransport = tls
    this.#listener.onSecure(tls)
  }

  #finish(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.deadlineAt = NEVER
    this.#parts.deadlines.remove(this)
    return true
  }
}

function lengthRead(): number {
  if (streamInternals === undefined) return 0
  return streamInternals.streamBaseState[streamInternals.kReadBytesOrError] ?? 0
}

function onFirstRead(this: StreamHandle): void {
  const handshake = this.sluiceTransport as TlsHandshake
  const length = lengthRead()
  if (length > 0) handshake.take(readBuffer.subarray(0, length))
  else if (length < 0) handshake.fail()
}

/** Nothing can be decrypted before the handshake is done, so this is the connection's end. */
function onDecrypted(this: StreamHandle): void {
  const handshake = this.sluiceTransport as TlsHandshake
  if (lengthRead() < 0) handshake.fail()
}

function onHello(this: TlsHandle, { servername }: { servername: string }): void {
  const handshake = this.sluiceTransport as TlsHandshake
  handshake.chooseCertificate(this, servername)
}

function onDone(this: TlsHandle): void {
  const handshake = this.sluiceTransport as TlsHandshake
  handshake.done(this)
}

function onError(this: TlsHandle): void {
  const handshake = this.sluiceTransport as TlsHandshake
  handshake.fail()
}

function ignore(): void {}
