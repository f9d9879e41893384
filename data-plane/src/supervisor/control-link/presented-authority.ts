/**
 * Finds out whether the server at an address is the control plane that a join token speaks of, before
 * anything is sent to it: the CA that it presents must be the one whose digest the token carries, and that
 * CA must have signed the server's certificate.
 */
import { createHash, type X509Certificate } from 'node:crypto'
import tls from 'node:tls'
import type { Address } from '../address.ts'
import { reasonOf } from '../errors.ts'
import { limits } from '../limits.ts'

/** The name in every control plane's certificate, whatever its address is. */
export const SERVER_NAME = 'control-plane.sluice.internal'

export type AuthorityOutcome =
  | { readonly kind: 'trusted'; readonly caPem: string }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unreachable'; readonly reason: string }

export function findAuthority(address: Address, caSha256: Uint8Array): Promise<AuthorityOutcome> {
  const { promise, resolve } = Promise.withResolvers<AuthorityOutcome>()
  const socket = tls.connect({
    host: address.host,
    port: address.port,
    servername: SERVER_NAME,
    ALPNProtocols: ['h2'],
    // The chain is judged below, by the token's digest.
    rejectUnauthorized: false,
  })
  const timer = setTimeout(
    () => finish({ kind: 'unreachable', reason: 'no TLS connection in time' }),
    limits.connectTimeoutMs,
  )
  function finish(outcome: AuthorityOutcome): void {
    clearTimeout(timer)
    socket.destroy()
    resolve(outcome)
  }
  socket.on('error', (error) => finish({ kind: 'unreachable', reason: reasonOf(error) }))
  socket.on('close', () => finish({ kind: 'unreachable', reason: 'the connection was closed' }))
  socket.on('secureConnect', () => finish(judge(socket.getPeerX509Certificate(), caSha256)))
  return promise
}

function judge(leaf: X509Certificate | undefined, caSha256: Uint8Array): AuthorityOutcome {
  if (leaf === undefined) return refused('the server presented no certificate')
  const authority = findIn(leaf, caSha256)
  if (authority === undefined) {
    return refused('the server is not the control plane that the join token was made for')
  }
  if (!authority.ca) return refused('the certificate that the join token names is not a CA')
  if (!leaf.verify(authority.publicKey)) {
    return refused("the server's certificate is not signed by the CA that the join token names")
  }
  if (leaf.checkHost(SERVER_NAME) === undefined) {
    return refused(`the server's certificate is not for ${SERVER_NAME}`)
  }
  const now = Date.now()
  for (const { validFromDate, validToDate } of [leaf, authority]) {
    if (now < validFromDate.getTime() || now > validToDate.getTime()) {
      return refused("the server's certificate is not valid at this time; check the clocks")
    }
  }
  return { kind: 'trusted', caPem: authority.toString() }
}

/** Along the chain as it was presented. A certificate that issued itself ends it. */
function findIn(leaf: X509Certificate, caSha256: Uint8Array): X509Certificate | undefined {
  let certificate: X509Certificate | undefined = leaf
  for (let depth = 0; certificate !== undefined && depth < 8; depth += 1) {
    if (createHash('sha256').update(certificate.raw).digest().equals(caSha256)) return certificate
    certificate = certificate.issuerCertificate
  }
  return undefined
}

function refused(reason: string): AuthorityOutcome {
  return { kind: 'refused', reason }
}
