/** What a TLS client gets from a proxy, so that equal work is seen and not believed. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { HOST } from './scenarios.ts'

const ANSWER_MS = 10_000

export interface TlsFacts {
  readonly version: string
  readonly cipher: string
  /** Of the key exchange; a group that Node has no name for is `other`. */
  readonly group: string
  /** Whether a second connection could go on with the session of the first. */
  readonly isResumed: boolean
  /** Whether that second connection got a ticket for a third: clients use a TLS 1.3 ticket once. */
  readonly isRenewed: boolean
  /** SHA-256 of the certificate. */
  readonly fingerprint: string
  readonly protocol: string
}

interface Handshake {
  readonly facts: Omit<TlsFacts, 'isRenewed'>
  readonly sessions: readonly Buffer[]
}

export async function probeTls(port: number, host: string = HOST): Promise<TlsFacts> {
  const first = await exchange(port, host, undefined)
  const second = await exchange(port, host, first.sessions.at(-1))
  // A resumed handshake sends no certificate; group and fingerprint are those of the full one.
  const { isResumed } = second.facts
  return { ...first.facts, isResumed, isRenewed: second.sessions.length > 0 }
}

async function exchange(
  port: number,
  host: string,
  session: Buffer | undefined,
): Promise<Handshake> {
  const sessions: Buffer[] = []
  const socket: TLSSocket = connect({
    port,
    host: '127.0.0.1',
    servername: host,
    // The certificate is the run's own and signed by nobody.
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    ...(session === undefined ? {} : { session }),
  })
  socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error(`port ${port}: no TLS answer`)))
  socket.on('session', (one: Buffer) => sessions.push(one))
  await once(socket, 'secureConnect')
  const facts = {
    version: socket.getProtocol() ?? 'none',
    cipher: socket.getCipher().name,
    group: groupOf(socket),
    isResumed: socket.isSessionReused(),
    fingerprint: socket.getPeerCertificate().fingerprint256 ?? 'none',
    protocol: socket.alpnProtocol || 'none',
  }
  // The proxy closes first: one that finds our end unread might reset the connection.
  socket.write(`GET /1k HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  socket.resume()
  await once(socket, 'close')
  return { facts, sessions }
}

function groupOf(socket: TLSSocket): string {
  const info = socket.getEphemeralKeyInfo()
  if (info === null || !('type' in info)) return 'other'
  const name = 'name' in info ? info.name : undefined
  return name || info.type
}
