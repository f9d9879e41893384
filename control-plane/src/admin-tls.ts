/**
 * TLS of the admin API: a certificate from files, read again when they change, or one of the internal CA, made anew
 * in time. Without either the API may be reached on this machine alone, unless the operator says otherwise.
 */
import { readFile } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { hostname } from 'node:os'
import { createSecureContext } from 'node:tls'
import type { Logger } from 'pino'
import type { TlsIdentity } from './admin-api/parts.ts'
import type { CertificateAuthority } from './certificates/authority.ts'
import { explain, StartError } from './errors.ts'
import type { ListenAddress, Settings } from './settings.ts'

const lookIntervalMs = 5_000
/** Far from the 90 days that such a certificate lasts. */
const renewalMs = 30 * 86_400_000

export interface AdminTls {
  readonly identity: TlsIdentity
  /** Calls back with every identity that takes the place of the one before. Returns the function that ends it. */
  watch(onChange: (identity: TlsIdentity) => void): () => void
}

type TlsSettings = Pick<
  Settings,
  'admin' | 'adminTls' | 'adminTlsCert' | 'adminTlsKey' | 'adminInsecure' | 'fleetNames'
>

interface Parts {
  readonly authority: CertificateAuthority
  readonly log: Logger
  readonly now: () => number
}

/** Undefined: plain HTTP. Throws a StartError where that would put tokens on the network in the clear. */
export async function openAdminTls(
  settings: TlsSettings,
  parts: Parts,
): Promise<AdminTls | undefined> {
  const { admin, adminTls, adminTlsCert, adminTlsKey, adminInsecure } = settings
  if (adminTlsCert !== undefined && adminTlsKey !== undefined) {
    return fromFiles(adminTlsCert, adminTlsKey, parts.log)
  }
  if (adminTls === 'internal') return fromAuthority(settings, parts)
  if (adminInsecure || isLoopback(admin)) return undefined
  throw new StartError(
    `the admin API would listen on ${admin.host} without TLS, where tokens and passwords cross the network in the clear: give --admin-tls-cert and --admin-tls-key, or --admin-tls internal, or --admin-insecure behind a proxy that ends TLS`,
  )
}

function isLoopback({ host }: ListenAddress): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

async function fromFiles(certFile: string, keyFile: string, log: Logger): Promise<AdminTls> {
  const read = async (): Promise<TlsIdentity> => {
    const [cert, key] = await Promise.all([readPem(certFile), readPem(keyFile)])
    try {
      createSecureContext({ cert, key })
    } catch (error) {
      throw explain(error, `${certFile} and ${keyFile} are no certificate and its key`)
    }
    return { cert, key }
  }
  let identity = await read()
  const look = async () => {
    const found = await read()
    if (found.cert === identity.cert && found.key === identity.key) return undefined
    identity = found
    log.info({ file: certFile }, 'the certificate of the admin API was replaced')
    return found
  }
  const failure = 'the certificate of the admin API cannot be read; the one before stays'
  return {
    identity,
    watch: (onChange) => repeat(look, onChange, { log, failure, intervalMs: lookIntervalMs }),
  }
}

async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw explain(error, `the file ${file} cannot be read`)
  }
}

async function fromAuthority(
  { admin, fleetNames }: TlsSettings,
  { authority, log, now }: Parts,
): Promise<AdminTls> {
  const own = ['0.0.0.0', '::'].includes(admin.host) ? [] : [admin.host]
  const hosts = new Set([
    'localhost',
    '127.0.0.1',
    '::1',
    hostname().toLowerCase(),
    ...own,
    ...fleetNames,
  ])
  const issue = async (): Promise<TlsIdentity> => {
    const { chainPem, privateKeyPem } = await authority.issueSite([...hosts])
    return { cert: chainPem, key: privateKeyPem }
  }
  let issuedAtMs = now()
  const renew = async () => {
    if (now() - issuedAtMs < renewalMs) return undefined
    const identity = await issue()
    issuedAtMs = now()
    return identity
  }
  const failure = 'the certificate of the admin API was not renewed'
  return {
    identity: await issue(),
    watch: (onChange) => repeat(renew, onChange, { log, failure, intervalMs: lookIntervalMs }),
  }
}

function repeat(
  look: () => Promise<TlsIdentity | undefined>,
  onChange: (identity: TlsIdentity) => void,
  options: { readonly log: Logger; readonly failure: string; readonly intervalMs: number },
): () => void {
  const { log, failure, intervalMs } = options
  const timer = setInterval(() => {
    look()
      .then((identity) => identity && onChange(identity))
      .catch((error: unknown) => log.error({ err: error }, failure))
  }, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}
