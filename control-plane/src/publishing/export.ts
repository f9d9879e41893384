/**
 * Everything that is configured as one text of YAML documents. The first says what it is; each other one is a
 * resource as `apply` takes it. Private keys are sealed to a passphrase, or left out.
 */
import { setImmediate } from 'node:timers/promises'
import { stringify } from 'yaml'
import { KINDS } from '../model/kinds.ts'
import type { Resource } from '../model/resources.ts'
import type { PublishedState } from './published-state.ts'
import { SecretBox } from './secret-box.ts'

export const exportFormat = 1

/** How many documents are written before others get their turn: some tens of milliseconds. */
const documentsPerTurn = 50

export interface ExportSource {
  readonly version: number
  readonly hash: string
  readonly state: PublishedState
  readonly findKey: (publicKeyId: string) => string | undefined
}

/** What a sealed key belongs to, so that it opens nowhere else. */
export function keyContext(certificate: string): string {
  return `private key of certificate ${certificate}`
}

export async function exportYaml(source: ExportSource, passphrase?: string): Promise<string> {
  const { version, hash, state, findKey } = source
  const box = passphrase === undefined ? undefined : await SecretBox.create(passphrase)
  const head = {
    kind: 'export',
    format: exportFormat,
    version,
    hash,
    ...(box !== undefined && { salt: box.salt }),
  }
  const texts = [stringify(head)]
  for (const { resource } of KINDS.flatMap((kind) => state.list(kind))) {
    texts.push(stringify(portable(resource, box, findKey)))
    // A large export must not keep everybody else waiting.
    if (texts.length % documentsPerTurn === 0) await setImmediate()
  }
  return texts.join('---\n')
}

function portable(
  resource: Resource,
  box: SecretBox | undefined,
  findKey: ExportSource['findKey'],
): object {
  if (resource.kind !== 'certificate') return { kind: resource.kind, ...resource.spec }
  const { name, labels, source, chainPem, hosts, publicKeyId } = resource.spec
  const written = {
    kind: resource.kind,
    name,
    labels,
    source,
    ...(source === 'internal' && { hosts }),
  }
  const key = findKey(publicKeyId)
  if (box === undefined || key === undefined) {
    // Without its key an internal certificate is issued anew.
    return source === 'internal' ? written : { ...written, chainPem }
  }
  return { ...written, chainPem, sealedPrivateKey: box.seal(key, keyContext(name)) }
}
