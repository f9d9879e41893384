/**
 * The seam between the engine and sockets: bytes in, bytes out, back-pressure, close. The engine reads no
 * socket and keeps no stream; whatever implements this (TCP handles, TLS, a simulation) runs the same code.
 */

/** Who speaks to whom: IPv4 or IPv6 addresses, '' where one is not known any more. */
export interface Endpoints {
  readonly sourceAddress: string
  readonly sourcePort: number
  readonly destinationAddress: string
  readonly destinationPort: number
}

export const WriteResult = Object.freeze({
  /** The bytes are gone; the buffer is the caller's again. */
  DONE: 0,
  /** The buffer is the caller's again, but the peer is behind: wait for onWritable. */
  BEHIND: 1,
  /** The buffer stays with the transport for good, and the peer is behind: wait for onWritable. */
  KEPT: 2,
})

export interface TransportListener {
  /** bytes[0..length) are valid during the call only. */
  onBytes(bytes: Buffer, length: number): void
  /** The peer sent its FIN; writing may go on. */
  onEnd(): void
  /** All that was written is gone, after a write or an end that was behind; may come without one too. */
  onWritable(): void
  /** The peer or an error closed the connection; the last call. A system error's name, or '' for none. */
  onClosed(code: string): void
}

export interface Transport {
  readonly remoteAddress: string
  /** Both ends of the connection, as the peer's PROXY protocol header has them if it sent one. */
  endpoints(): Endpoints
  /** Hands all further events to another listener. */
  listenWith(listener: TransportListener): void
  /** Begins to read. */
  start(): void
  /** Sends bytes[0..length). After a failure bytes vanish here and the reading side says what happened. */
  write(bytes: Buffer, length: number): number
  pause(): void
  resume(): void
  /** FIN after what was written. False: some of that still waits here; onWritable says when it is gone. */
  end(): boolean
  /** The same, and then closes by itself, without a wait for the peer; onClosed('') follows. */
  finish(): boolean
  /** Closes at once; what is still unsent may be lost. The listener is not called any more. */
  destroy(): void
  /** Like destroy, with RST, so that the peer can tell a cut message from an ended one. */
  reset(): void
}
