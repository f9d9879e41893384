/** The one certificate that all proxies serve: ECDSA on P-256, signed by itself. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { HOST } from './scenarios.ts'

const run = promisify(execFile)

export interface Certificate {
  readonly chainFile: string
  readonly keyFile: string
}

export async function makeCertificate(
  directory: string,
  hosts: readonly string[] = [HOST],
): Promise<Certificate> {
  const chainFile = join(directory, 'chain.pem')
  const keyFile = join(directory, 'key.pem')
  await run('openssl', [
    ...['req', '-x509', '-nodes', '-days', '30'],
    ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
    ...['-subj', `/CN=${hosts[0] ?? HOST}`],
    ...['-addext', `subjectAltName=${hosts.map((host) => `DNS:${host}`).join(',')}`],
    ...['-keyout', keyFile, '-out', chainFile],
  ])
  return { chainFile, keyFile }
}
