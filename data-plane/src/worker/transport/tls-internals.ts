/**
 * The parts of Node that TLS connections use below tls.TLSSocket: the handle that encrypts, and the function that
 * puts it over a TCP handle. Nothing else touches them. Where a Node lacks them, listeners fall back to
 * tls.TLSSocket.
 */
import type { SecureContext } from 'node:tls'
import { type StreamHandle, streamInternals } from './stream-internals.ts'

/** What is below a `SecureContext`. */
export type NativeContext = object

/** One TLS connection as Node wraps it (tls_wrap), as far as a server uses it. */
export interface TlsHandle extends StreamHandle {
  /** Of the handshake; each runs inside of a read. */
  onhandshakedone: (this: TlsHandle) => void
  onerror: (this: TlsHandle, error: NodeJS.ErrnoException) => void
  oncertcb: (this: TlsHandle, hello: { servername: string }) => void
  sni_context: NativeContext | undefined
  /** Makes the handshake wait, once its hello is read, for oncertcb and certCbDone. */
  enableCertCb(): void
  certCbDone(): void
  setALPNProtocols(list: Buffer): void
  /** Takes bytes that were read from the connection before this handle was over it. */
  receive(bytes: Uint8Array): void
  /** Lets go of everything, also of a write that never ended. After the TCP handle is closed. */
  destroySSL(): void
}

type Wrap = (
  handle: StreamHandle,
  context: NativeContext,
  isServer: boolean,
  hasActiveWrite: boolean,
) => TlsHandle

const METHODS = ['enableCertCb', 'certCbDone', 'setALPNProtocols', 'receive', 'destroySSL']

function load(): Wrap | undefined {
  if (streamInternals === undefined) return undefined
  const binding: { wrap?: Wrap; TLSWrap?: { prototype: object } } = Reflect.apply(
    Reflect.get(process, 'binding'),
    process,
    ['tls_wrap'],
  )
  const prototype = binding.TLSWrap?.prototype
  if (typeof binding.wrap !== 'function' || prototype === undefined) return undefined
  const isWhole = METHODS.every((name) => typeof Reflect.get(prototype, name) === 'function')
  return isWhole ? binding.wrap : undefined
}

/** undefined: this Node has other internals than the ones that were tried. */
export const wrapTls: Wrap | undefined = load()

export function nativeContext({ context }: SecureContext): NativeContext {
  return context
}
