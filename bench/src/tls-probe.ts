/** What a TLS client gets from a proxy, so that equal work is seen and not believed. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { HOST } from './scenarios.ts'

const REQUEST = `GET /1k HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`

export interface TlsFacts {
  readonly version: string
  readonly cipher: string
  /** Whether a second connection could go on with the session of the first. */
  readonly isResumed: boolean
  /** Whether that second connection got a ticket for a third: clients use a TLS 1.3 ticket once. */
  readonly isRenewed: boolean
}

export async function probeTls(port: number): Promise<TlsFacts> {
  const first = await exchange(port, undefined)
  const second = await exchange(port, first.sessions.at(-1))
  return { ...second.facts, isRenewed: second.sessions.length > 0 }
}

async function exchange(
  port: number,
  session: Buffer | undefined,
): Promise<{ facts: Omit<TlsFacts, 'isRenewed'>; sessions: Buffer[] }> {
  const sessions: Buffer[] = []
  const socket: TLSSocket = connect({
    port,
    host: '127.0.0.1',
    servername: HOST,
    // The certificate is the run's own and signed by nobody.
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    ...(session === undefined ? {} : { session }),
  })
  socket.on('session', (one: Buffer) => sessions.push(one))
  await once(socket, 'secureConnect')
  const facts = {
    version: socket.getProtocol() ?? 'none',
    cipher: socket.getCipher().name,
    isResumed: socket.isSessionReused(),
  }
  socket.end(REQUEST)
  socket.resume()
  await once(socket, 'close')
  return { facts, sessions }
}
