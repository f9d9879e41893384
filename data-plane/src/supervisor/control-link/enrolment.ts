/** Turns a join token into an identity. Tried until it succeeds or the control plane says no for good. */
import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import type { EnrolRequest, EnrolResponse } from '@sluice/proto'
import { EnrolmentServiceClient } from '@sluice/proto/services'
import type { Logger } from 'pino'
import { type Address, formatAddress } from '../address.ts'
import { StartFailure } from '../errors.ts'
import { limits } from '../limits.ts'
import { BackOff } from './back-off.ts'
import { channelOptions, statusText, trustOnly } from './channel.ts'
import { type Identity, identityFault, makeKeyRequest } from './identity.ts'
import { type JoinToken, parseJoinToken } from './join-token.ts'
import { findAuthority } from './presented-authority.ts'
import { sleep } from './sleep.ts'

export interface EnrolOptions {
  readonly address: Address
  readonly token: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly logger: Logger
  /** Ends the attempts. */
  readonly stopped: AbortSignal
}

type Attempt =
  | { readonly kind: 'enrolled'; readonly identity: Identity }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

/** Undefined when it was stopped. Throws StartFailure when no further attempt can succeed. */
export async function enrol(options: EnrolOptions): Promise<Identity | undefined> {
  const token = parseJoinToken(options.token)
  if (token === undefined) throw new StartFailure('the join token does not have the form of one')
  const request = await makeKeyRequest()
  const backOff = new BackOff()
  let lastReason = ''
  while (!options.stopped.aborted) {
    const attempt = await enrolOnce(options, token, request)
    if (attempt.kind === 'enrolled') return attempt.identity
    if (attempt.kind === 'refused') throw new StartFailure(`cannot join: ${attempt.reason}`)
    if (attempt.reason !== lastReason) {
      lastReason = attempt.reason
      const { address, logger } = options
      const controlPlane = formatAddress(address.host, address.port)
      logger.warn({ controlPlane, reason: lastReason }, 'cannot join yet and goes on trying')
    }
    await sleep(backOff.nextDelayMs(), options.stopped)
  }
  return undefined
}

async function enrolOnce(
  options: EnrolOptions,
  token: JoinToken,
  request: { readonly privateKeyPem: string; readonly csrPem: string },
): Promise<Attempt> {
  const authority = await findAuthority(options.address, token.caSha256)
  if (authority.kind === 'unreachable') return { kind: 'failed', reason: authority.reason }
  if (authority.kind === 'refused') return authority
  const { name, labels } = options
  const message = { token: token.text, csrPem: request.csrPem, name, labels: { ...labels } }
  const answer = await call(options.address, authority.caPem, message)
  if (answer.kind !== 'answered') return answer
  const { nodeId, certificatePem } = answer.response
  const { privateKeyPem } = request
  const identity = { nodeId, privateKeyPem, certificatePem, caPem: authority.caPem }
  const fault = nodeId === '' ? 'it has no node id' : identityFault(identity)
  if (fault !== undefined) {
    return { kind: 'refused', reason: `the control plane's answer cannot be used: ${fault}` }
  }
  return { kind: 'enrolled', identity }
}

type Answer =
  | { readonly kind: 'answered'; readonly response: EnrolResponse }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

function call(address: Address, caPem: string, message: EnrolRequest): Promise<Answer> {
  const target = formatAddress(address.host, address.port)
  const client = new EnrolmentServiceClient(target, trustOnly(caPem), channelOptions)
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const deadline = Date.now() + limits.enrolTimeoutMs
  client.enrol(message, new Metadata(), { deadline }, (error: ServiceError | null, response) => {
    client.close()
    if (error === null) return resolve({ kind: 'answered', response })
    const kind = PERMANENT.has(error.code) ? 'refused' : 'failed'
    return resolve({ kind, reason: statusText(error) })
  })
  return promise
}

const PERMANENT: ReadonlySet<status> = new Set([
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.ALREADY_EXISTS,
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.FAILED_PRECONDITION,
  status.UNIMPLEMENTED,
])
