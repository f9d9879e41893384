/** The one TLS alert that Node cannot be told to send. */
import { type StreamHandle, streamInternals } from '../transport/stream-internals.ts'

/** A plaintext record: alert, TLS 1.2, two bytes: fatal, unrecognized_name (RFC 8446 section 6). */
const UNRECOGNIZED_NAME = Buffer.from([21, 3, 3, 0, 2, 2, 112])

/**
 * Tells a client, in the middle of its handshake and before any key is agreed on, that no server of that name
 * is here (RFC 6066 section 3). Where Node's internals are other than expected it says nothing, and the
 * client sees the connection end.
 */
export function sendUnrecognizedName(handle: StreamHandle | undefined): void {
  if (streamInternals === undefined || typeof handle?.writeBuffer !== 'function') return
  const request = new streamInternals.WriteWrap()
  request.bytes = UNRECOGNIZED_NAME
  request.oncomplete = () => {}
  handle.writeBuffer(request, UNRECOGNIZED_NAME)
}
