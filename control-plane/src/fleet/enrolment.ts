/**
 * Turns a join token and a signing request into a node, or into a new certificate of one whose certificate has
 * expired. Nothing is changed unless everything fits.
 */
import { randomBytes } from 'node:crypto'
import { status } from '@grpc/grpc-js'
import type { EnrolRequest, EnrolResponse } from '@sluice/proto'
import type { CertificateAuthority, IssuedNodeCertificate } from '../certificates/authority.ts'
import { SigningRequestError } from '../certificates/signing-request.ts'
import { findLabelProblem } from '../model/labels.ts'
import { FleetRefusal, invalid } from './fleet-refusal.ts'
import type { JoinTokens } from './join-tokens.ts'
import { readLabels } from './labels.ts'
import { fleetLimits as limits } from './limits.ts'
import type { NodeRegistry } from './node-registry.ts'
import type { TokenBucket } from './token-bucket.ts'

export interface EnrolmentOptions {
  readonly tokens: JoinTokens
  readonly authority: CertificateAuthority
  readonly registry: NodeRegistry
  readonly bucket: TokenBucket
}

const namePattern = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/
const idPattern = /^n-[0-9a-f]{20}$/

export class Enrolment {
  readonly #options: EnrolmentOptions

  constructor(options: EnrolmentOptions) {
    this.#options = options
  }

  /** `address` is that of the machine, for the audit log. */
  async enrol(request: EnrolRequest, address: string): Promise<EnrolResponse> {
    const { tokens, authority, registry, bucket } = this.#options
    // The token first: without a good one, nothing is told about names that are taken.
    const verdict = await tokens.verify(request.token)
    if (verdict.kind === 'refused') {
      throw new FleetRefusal(status.UNAUTHENTICATED, verdict.reason)
    }
    // Then the rate, so that strangers do not use up what is meant for those with a token.
    if (!bucket.take()) {
      throw new FleetRefusal(status.UNAVAILABLE, 'too many nodes enrol at once; try again later')
    }
    const expired = await registry.findExpired(request.name)
    // What the operator pinned in the token wins over all, and what the machine says of itself over nothing.
    const known = expired === undefined ? {} : readLabels(expired.labels)
    const labels = { ...request.labels, ...known, ...verdict.labels }
    assertNameAndLabels(request.name, labels)
    const nodeId = expired?.id ?? `n-${randomBytes(10).toString('hex')}`
    const certificate = await issueNode(authority, request.csrPem, nodeId)
    const node = { id: nodeId, name: request.name, labels, certificate }
    const outcome = await registry.enrol(verdict.id, node, address)
    switch (outcome) {
      case 'enrolled':
        return {
          nodeId,
          certificatePem: certificate.certificatePem,
          caChainPem: authority.caPem,
        }
      case 'name-taken':
        throw new FleetRefusal(
          status.ALREADY_EXISTS,
          `a node named "${request.name}" exists; choose another name or revoke that node`,
        )
      case 'token-used-up':
        throw new FleetRefusal(status.UNAUTHENTICATED, 'the join token is used up')
    }
  }
}

/** Signs, and turns what is wrong with the request into a status. */
export async function issueNode(
  authority: CertificateAuthority,
  csrPem: string,
  nodeId: string,
): Promise<IssuedNodeCertificate> {
  try {
    return await authority.issueNode(csrPem, nodeId)
  } catch (error) {
    if (error instanceof SigningRequestError) {
      throw invalid(`csr_pem: ${error.message}`)
    }
    throw error
  }
}

function assertNameAndLabels(name: string, labels: Readonly<Record<string, string>>): void {
  const nameProblem = findNodeNameProblem(name)
  if (nameProblem !== undefined) throw invalid(`name: ${nameProblem}`)
  const labelProblem = findLabelProblem(labels)
  if (labelProblem !== undefined) throw invalid(`labels: ${labelProblem}`)
}

export function findNodeNameProblem(name: string): string | undefined {
  if (name.length > limits.nodeNameCharactersMax || !namePattern.test(name)) {
    return `a node's name is 1 to ${limits.nodeNameCharactersMax} letters, digits, ".", "_" or "-", with a letter or digit at either end`
  }
  // Nodes are looked up by name or id, so a name must never be mistaken for the id of another node.
  return idPattern.test(name) ? 'looks like the id of a node; choose another name' : undefined
}
