/** Enrols simulated nodes as real ones enrol: with a join token, a key and a signing request of their own. */
import 'reflect-metadata'
import { setTimeout as delay } from 'node:timers/promises'
import { credentials, type ServiceError, status } from '@grpc/grpc-js'
import * as x509 from '@peculiar/x509'
import type { EnrolRequest, EnrolResponse } from '@sluice/proto'
import { EnrolmentServiceClient } from '@sluice/proto/services'
import type { MeasuredControlPlane } from './control-plane.ts'

export interface NodeIdentity {
  readonly nodeId: string
  readonly caPem: string
  readonly privateKeyPem: string
  readonly certificatePem: string
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const SERVER_NAME = 'control-plane.sluice.internal'
const USES_OF_TOKEN = 1_000
const AT_ONCE = 16
const RETRY_MS = 100
const ATTEMPTS_MAX = 6_000

export const channelOptions = {
  'grpc.ssl_target_name_override': SERVER_NAME,
  'grpc.max_receive_message_length': 64 * 1_048_576,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
}

export async function enrolNodes(
  controlPlane: MeasuredControlPlane,
  count: number,
): Promise<NodeIdentity[]> {
  const caPem = await controlPlane.caPem()
  const client = new EnrolmentServiceClient(
    controlPlane.fleetAddress,
    credentials.createSsl(Buffer.from(caPem)),
    channelOptions,
  )
  const identities: NodeIdentity[] = []
  let next = 0
  const enrolSome = async () => {
    for (let index = next++; index < count; index = next++) {
      identities.push(await enrolOne(client, caPem, await tokenOf(index), `sim-${index}`))
    }
  }
  const tokens: Promise<string>[] = []
  const tokenOf = (index: number): Promise<string> => {
    const at = Math.floor(index / USES_OF_TOKEN)
    tokens[at] ??= controlPlane
      .call<{ token: string }>('POST', 'join-tokens', { uses: USES_OF_TOKEN })
      .then(({ token }) => token)
    return tokens[at]
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, enrolSome))
  } finally {
    client.close()
  }
  return identities
}

async function enrolOne(
  client: EnrolmentServiceClient,
  caPem: string,
  token: string,
  name: string,
): Promise<NodeIdentity> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({
    name: 'CN=sluice-node',
    keys,
    signingAlgorithm: ALGORITHM,
  })
  const request = { token, csrPem: csr.toString('pem'), name, labels: {} }
  const { nodeId, certificatePem } = await patiently(client, request)
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  const privateKeyPem = x509.PemConverter.encode(pkcs8, 'PRIVATE KEY')
  return { nodeId, caPem, privateKeyPem, certificatePem }
}

/** The control plane bounds the rate of enrolments, and says so. */
async function patiently(
  client: EnrolmentServiceClient,
  request: EnrolRequest,
): Promise<EnrolResponse> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await attemptOnce(client, request)
    if ('response' in outcome) return outcome.response
    const isBusy = outcome.error.code === status.UNAVAILABLE
    if (!isBusy || attempt === ATTEMPTS_MAX) throw outcome.error
    await delay(RETRY_MS * (0.5 + Math.random()))
  }
}

function attemptOnce(
  client: EnrolmentServiceClient,
  request: EnrolRequest,
): Promise<{ response: EnrolResponse } | { error: ServiceError }> {
  return new Promise((resolve) => {
    client.enrol(request, (error: ServiceError | null, response: EnrolResponse) => {
      resolve(error === null ? { response } : { error })
    })
  })
}
