/**
 * The file that `sluice node bundle` makes: a version to serve before the control plane was reached, and the
 * token to join by. As JSON, or sealed to a passphrase in the format of age (https://age-encryption.org/v1).
 */
import { readFile } from 'node:fs/promises'
import { Update } from '@sluice/proto'
import Type, { type Static } from 'typebox'
import Value from 'typebox/value'
import { parseJoinToken } from './control-link/join-token.ts'
import { reasonOf, StartFailure } from './errors.ts'
import { readUpdate } from './update-reader.ts'
import type { StoredVersion } from './version-store.ts'

const AGE_INTRO = 'age-encryption.org/v1'

const BundleShape = Type.Object({
  format: Type.Literal('sluice-node-bundle-1'),
  name: Type.String(),
  labels: Type.Record(Type.String(), Type.String()),
  update: Type.String(),
  joinToken: Type.String(),
})

export interface Bundle {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly joinToken: string
  readonly version: StoredVersion
}

/** Throws StartFailure with a line for the operator. */
export async function readBundle(path: string, passphraseFile?: string): Promise<Bundle> {
  try {
    const passphrase =
      passphraseFile === undefined
        ? undefined
        : (await readFile(passphraseFile, 'utf8')).replace(/\r?\n$/, '')
    return parse(await unsealed(await readFile(path), passphrase))
  } catch (error) {
    throw new StartFailure(`the bundle ${path} cannot be used: ${reasonOf(error)}`)
  }
}

async function unsealed(content: Buffer, passphrase: string | undefined): Promise<string> {
  if (!content.subarray(0, AGE_INTRO.length).equals(Buffer.from(AGE_INTRO))) {
    return content.toString('utf8')
  }
  if (passphrase === undefined) {
    throw new Error('it is sealed: give its passphrase with --bundle-passphrase-file')
  }
  // Loaded for sealed bundles alone.
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  decrypter.addPassphrase(passphrase.normalize('NFC'))
  try {
    return await decrypter.decrypt(content, 'text')
  } catch {
    throw new Error('the passphrase is another one, or it is damaged')
  }
}

function parse(text: string): Bundle {
  let content: Static<typeof BundleShape>
  try {
    content = Value.Parse(BundleShape, JSON.parse(text))
  } catch {
    throw new Error('it is not a bundle of this format')
  }
  const { name, labels, joinToken, update } = content
  if (parseJoinToken(joinToken) === undefined) throw new Error('its join token is malformed')
  const reading = readUpdate(Update.decode(Buffer.from(update, 'base64')), undefined)
  if (reading.kind !== 'candidate') {
    throw new Error(
      reading.kind === 'refused' ? reading.problem.reason : 'it holds no whole version',
    )
  }
  const { version, hash, resources } = reading.candidate
  return { name, labels, joinToken, version: { version, hash, resources, appliedAtMs: Date.now() } }
}
