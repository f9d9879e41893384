/** Tells which node a call comes from, by the certificate of its connection and by nothing that it says. */
import { X509Certificate } from 'node:crypto'
import { type ServerDuplexStream, status } from '@grpc/grpc-js'
import { type CertificateAuthority, nodeUri } from '../certificates/authority.ts'
import { fingerprintOf } from '../certificates/inspect.ts'
import type { Labels } from '../model/labels.ts'
import { FleetRefusal } from './fleet-refusal.ts'
import { readLabels } from './labels.ts'
import type { NodeRegistry } from './node-registry.ts'

export interface PeerNode {
  readonly id: string
  readonly name: string
  readonly labels: Labels
  /** Of the certificate in use. */
  readonly fingerprint: string
  /** What it ran when it was heard of last. */
  readonly lastKnown: { readonly version: number; readonly hash: string }
}

const clientAuthUsage = '1.3.6.1.5.5.7.3.2'
const uriPrefix = `URI:${nodeUri('')}`

export async function identify(
  call: Pick<ServerDuplexStream<unknown, unknown>, 'getAuthContext'>,
  authority: CertificateAuthority,
  registry: NodeRegistry,
): Promise<PeerNode> {
  const der = call.getAuthContext().sslPeerCertificate?.raw
  if (der === undefined) {
    throw unauthenticated(
      'a valid node certificate of this control plane is required: join, or join again where it has expired, with a join token',
    )
  }
  const certificate = new X509Certificate(der)
  const nodeId = readNodeId(certificate)
  // OpenSSL checked the chain at the handshake, but a connection may outlive its certificate.
  if (nodeId === undefined || !authority.vouchesFor(certificate)) {
    throw unauthenticated('the client certificate is no valid node certificate')
  }
  const node = await registry.findRecord(nodeId)
  if (node === undefined) {
    throw unauthenticated('the node is unknown; enrol it with a join token')
  }
  if (node.revoked_at_ms !== null) {
    throw new FleetRefusal(status.PERMISSION_DENIED, `the node "${node.name}" is revoked`)
  }
  const fingerprint = fingerprintOf(certificate.raw)
  if (fingerprint !== node.fingerprint && fingerprint !== node.previous_fingerprint) {
    throw unauthenticated('the node certificate was replaced by a newer one')
  }
  if (fingerprint === node.fingerprint && node.previous_fingerprint !== null) {
    await registry.confirmCertificate(nodeId, fingerprint)
  }
  const { name, version, hash } = node
  const labels = readLabels(node.labels)
  return { id: nodeId, name, labels, fingerprint, lastKnown: { version, hash } }
}

function readNodeId(certificate: X509Certificate): string | undefined {
  const name = certificate.subjectAltName
  if (name?.startsWith(uriPrefix) !== true || !certificate.keyUsage?.includes(clientAuthUsage)) {
    return undefined
  }
  const nodeId = name.slice(uriPrefix.length)
  return certificate.subject === `CN=${nodeId}` ? nodeId : undefined
}

function unauthenticated(details: string): FleetRefusal {
  return new FleetRefusal(status.UNAUTHENTICATED, details)
}
