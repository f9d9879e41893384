/** The one certificate that all proxies serve: ECDSA on P-256, signed by itself. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { HOST } from './scenarios.ts'

const run = promisify(execFile)

export interface Certificate {
  readonly chainFile: string
  readonly keyFile: string
  /** Chain and key in one, as HAProxy wants them. */
  readonly bothFile: string
  readonly chainPem: string
  readonly keyPem: string
}

export async function makeCertificate(
  directory: string,
  hosts: readonly string[] = [HOST],
): Promise<Certificate> {
  const chainFile = join(directory, 'chain.pem')
  const keyFile = join(directory, 'key.pem')
  const bothFile = join(directory, 'both.pem')
  await run('openssl', [
    ...['req', '-x509', '-nodes', '-days', '30'],
    ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
    ...['-subj', `/CN=${hosts[0] ?? HOST}`],
    ...['-addext', `subjectAltName=${hosts.map((host) => `DNS:${host}`).join(',')}`],
    ...['-keyout', keyFile, '-out', chainFile],
  ])
  const chainPem = await readFile(chainFile, 'utf8')
  const keyPem = await readFile(keyFile, 'utf8')
  await writeFile(bothFile, chainPem + keyPem)
  return { chainFile, keyFile, bothFile, chainPem, keyPem }
}
