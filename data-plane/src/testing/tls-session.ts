/** A client that keeps its TLS session from one connection to the next. */
import { once } from 'node:events'
import { connect } from 'node:tls'

export interface Shaken {
  readonly isResumed: boolean
  /** From the newest ticket of this connection; undefined: it brought none. */
  readonly session: Buffer | undefined
}

/** One connection with one request for a.test, whose answer tells that all tickets are in. */
export async function shakeHands(port: number, session?: Buffer): Promise<Shaken> {
  const options = { host: '127.0.0.1', port, servername: 'a.test', rejectUnauthorized: false }
  const socket = connect(session === undefined ? options : { ...options, session })
  let newest: Buffer | undefined
  socket.on('session', (given) => {
    newest = given
  })
  await once(socket, 'secureConnect')
  const isResumed = socket.isSessionReused()
  socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await once(socket, 'data')
  socket.destroy()
  return { isResumed, session: newest }
}
