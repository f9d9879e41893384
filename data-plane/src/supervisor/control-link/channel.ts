/** How connections to the control plane are made, and what its status codes mean to a node. */
import { type ChannelOptions, credentials, type ServiceError, status } from '@grpc/grpc-js'
import { limits } from '../limits.ts'
import type { Identity } from './identity.ts'
import { SERVER_NAME } from './presented-authority.ts'

export const channelOptions: ChannelOptions = Object.freeze({
  'grpc.ssl_target_name_override': SERVER_NAME,
  'grpc.default_authority': SERVER_NAME,
  'grpc.keepalive_time_ms': limits.keepaliveTimeMs,
  'grpc.keepalive_timeout_ms': limits.keepaliveTimeoutMs,
  'grpc.max_receive_message_length': limits.updateBytesMax,
  'grpc.max_send_message_length': limits.requestBytesMax,
  // Attempts are spaced by this node's own back-off: a shared pool would add the library's on top.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
})

export function trustOnly(caPem: string) {
  return credentials.createSsl(Buffer.from(caPem))
}

export function mutualTrust({ caPem, privateKeyPem, certificatePem }: Identity) {
  return credentials.createSsl(
    Buffer.from(caPem),
    Buffer.from(privateKeyPem),
    Buffer.from(certificatePem),
  )
}

/** What the control plane's refusal asks for; undefined: the failure may pass, try again soon. */
export function refusalOf({ code }: Pick<ServiceError, 'code'>): 'revoked' | 'unknown' | undefined {
  if (code === status.PERMISSION_DENIED) return 'revoked'
  return code === status.UNAUTHENTICATED ? 'unknown' : undefined
}

/** The control plane has read what was sent and will never take it as it is. */
export function isContentRefused({ code }: Pick<ServiceError, 'code'>): boolean {
  return code === status.INVALID_ARGUMENT
}

/** The text that the control plane sent, in one line. */
export function statusText({ code, details }: Pick<ServiceError, 'code' | 'details'>): string {
  // The library adds a note about names even when there is nothing to note.
  const text = details.replaceAll('\n', ' ').replace(/\s*Resolution note:\s*$/, '')
  return `${text} (${status[code]})`
}
