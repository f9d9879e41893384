/**
 * The parts of Node that TCP transports use below net.Socket: the request objects of stream handles and the
 * array in which a handle leaves its results. Nothing else touches them. Where a Node lacks them, listeners
 * fall back to net.Socket.
 */

/** A libuv stream as Node wraps it (tcp_wrap), as far as it is used here. */
export interface StreamHandle {
  onread: (this: StreamHandle, buffer: ArrayBuffer | undefined) => unknown
  onconnection: (error: number, client: StreamHandle | undefined) => void
  sluiceTransport: unknown
  readStart(): number
  readStop(): number
  useUserBuffer(buffer: Uint8Array): void
  writeBuffer(request: WriteRequest, bytes: Uint8Array): number
  shutdown(request: ShutdownRequest): number
  close(done?: () => void): void
  reset(done?: () => void): number
  setNoDelay(isOn: boolean): number
  setKeepAlive(isOn: boolean, delaySeconds: number): number
  getpeername(out: { address?: string; port?: number; family?: string }): number
  getsockname(out: { address?: string; port?: number; family?: string }): number
  listen(backlog: number): number
}

export interface WriteRequest {
  /** Keeps the bytes alive while libuv holds their address. */
  bytes: Uint8Array | undefined
  owner: unknown
  oncomplete: (this: WriteRequest, status: number) => void
}

export interface ShutdownRequest {
  oncomplete: (status: number) => void
}

/** What a handle's `onread` finds in place of a length when the peer has ended. */
export const UV_EOF = -4095

export interface StreamInternals {
  readonly WriteWrap: new () => WriteRequest
  readonly ShutdownWrap: new () => ShutdownRequest
  readonly kReadBytesOrError: number
  readonly kLastWriteWasAsync: number
  readonly streamBaseState: Int32Array
}

function load(): StreamInternals | undefined {
  const loader: unknown = Reflect.get(process, 'binding')
  if (typeof loader !== 'function') return undefined
  const binding: Partial<StreamInternals> = Reflect.apply(loader, process, ['stream_wrap'])
  const isWhole =
    typeof binding.WriteWrap === 'function' &&
    typeof binding.ShutdownWrap === 'function' &&
    typeof binding.kReadBytesOrError === 'number' &&
    typeof binding.kLastWriteWasAsync === 'number' &&
    ArrayBuffer.isView(binding.streamBaseState)
  return isWhole ? (binding as StreamInternals) : undefined
}

/** undefined: this Node has other internals than the ones that were tried. */
export const streamInternals: StreamInternals | undefined = load()
