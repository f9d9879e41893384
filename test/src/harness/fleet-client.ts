/** The fleet protocol spoken by hand: enrolment, and streams that carry whatever a test wants on them. */

import { once } from 'node:events'
import { connect } from 'node:tls'
import {
  type ChannelCredentials,
  type ClientDuplexStream,
  type ClientOptions,
  credentials,
  makeGenericClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import type { EnrolRequest, EnrolResponse } from '@sluice/proto'
import {
  EnrolmentServiceClient,
  FleetServiceClient,
  TelemetryServiceClient,
} from '@sluice/proto/services'
import type { ControlPlane } from './control-plane.ts'
import { bounded } from './eventually.ts'
import type { Scope } from './scope.ts'
import { makeKeys, privateKeyPem, signingRequest } from './test-ca.ts'

const CALL_MS = 5_000
const OPTIONS: ClientOptions = {
  'grpc.ssl_target_name_override': 'control-plane.sluice.internal',
  'grpc.enable_retries': 0,
}

export interface Identity {
  readonly nodeId: string
  readonly certificatePem: string
  readonly privateKeyPem: string
  readonly caPem: string
}

/** How a call ended. */
export interface CallEnd {
  readonly code: keyof typeof status
  readonly details: string
}

export async function enrol(
  scope: Scope,
  controlPlane: ControlPlane,
  request: EnrolRequest,
): Promise<EnrolResponse> {
  const trust = credentials.createSsl(Buffer.from(await controlPlane.caPem()))
  const client = new EnrolmentServiceClient(controlPlane.fleetAddress, trust, {
    ...OPTIONS,
    'grpc.max_send_message_length': -1,
  })
  scope.defer(() => client.close())
  const { promise, resolve, reject } = Promise.withResolvers<EnrolResponse>()
  client.enrol(request, (error, response) => (error === null ? resolve(response) : reject(error)))
  return bounded(promise, CALL_MS, 'the end of the enrolment')
}

/** An identity as a node gets it. */
export async function enrolIdentity(
  scope: Scope,
  controlPlane: ControlPlane,
  name: string,
): Promise<Identity> {
  const keys = await makeKeys()
  const token = await controlPlane.createJoinToken()
  const csrPem = await signingRequest(keys)
  const response = await enrol(scope, controlPlane, { token, csrPem, name, labels: {} })
  return {
    nodeId: response.nodeId,
    certificatePem: response.certificatePem,
    privateKeyPem: await privateKeyPem(keys),
    caPem: response.caChainPem,
  }
}

export function credentialsOf(identity: Identity): ChannelCredentials {
  return credentials.createSsl(
    Buffer.from(identity.caPem),
    Buffer.from(identity.privateKeyPem),
    Buffer.from(identity.certificatePem),
  )
}

export function fleetClient(
  scope: Scope,
  controlPlane: ControlPlane,
  trust: ChannelCredentials,
): FleetServiceClient {
  const client = new FleetServiceClient(controlPlane.fleetAddress, trust, OPTIONS)
  scope.defer(() => client.close())
  return client
}

export function telemetryClient(
  scope: Scope,
  controlPlane: ControlPlane,
  trust: ChannelCredentials,
): TelemetryServiceClient {
  const client = new TelemetryServiceClient(controlPlane.fleetAddress, trust, OPTIONS)
  scope.defer(() => client.close())
  return client
}

export type StreamName = 'FleetService/Configure' | 'TelemetryService/Report'

/** A stream on which each message is the bytes given, whatever they are. */
export function rawStream(
  scope: Scope,
  controlPlane: ControlPlane,
  trust: ChannelCredentials,
  name: StreamName,
): ClientDuplexStream<Buffer, Buffer> {
  const Raw = makeGenericClientConstructor({}, 'raw')
  const client = new Raw(controlPlane.fleetAddress, trust, {
    ...OPTIONS,
    'grpc.max_send_message_length': -1,
  })
  scope.defer(() => client.close())
  const same = (bytes: Buffer) => bytes
  return client.makeBidiStreamRequest(`/sluice.v1.${name}`, same, same)
}

/** Waits for the end of a stream; messages on the way are dropped. */
export async function endOf(
  stream: ClientDuplexStream<never, unknown>,
  withinMs = CALL_MS,
): Promise<CallEnd> {
  const { promise, resolve } = Promise.withResolvers<CallEnd>()
  stream.on('error', (error: ServiceError) => resolve(callEnd(error)))
  stream.on('end', () => resolve({ code: 'OK', details: '' }))
  stream.resume()
  return bounded(promise, withinMs, 'the end of the stream')
}

export function callEnd(error: unknown): CallEnd {
  const { code, details } = error as ServiceError
  return { code: status[code] as keyof typeof status, details }
}

/** Sends bytes to the fleet port inside TLS, and waits until the other side has had enough. */
export async function sayInsideTls(controlPlane: ControlPlane, bytes: string): Promise<void> {
  const port = controlPlane.fleetPort
  const socket = connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
  })
  socket.on('error', () => {})
  await bounded(once(socket, 'secureConnect'), CALL_MS, 'a TLS connection')
  socket.write(bytes)
  const closed = once(socket, 'close')
  socket.resume()
  await bounded(closed, CALL_MS, 'the end of the connection')
}
