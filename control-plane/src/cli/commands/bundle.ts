/** `sluice node bundle`: a file with which a new node serves before it has reached the control plane. */
import { writeFile } from 'node:fs/promises'
import { Encrypter } from 'age-encryption'
import type { Command } from 'commander'
import { CommandFailure, exitCodes, messageOf } from '../failures.ts'
import { type RunAction, type Session, show } from '../session.ts'
import { collectLabel, parseDuration, timeText } from '../values.ts'
import { readPassphrase } from './transfer.ts'

interface BundleOptions {
  readonly output?: string
  readonly label: Readonly<Record<string, string>>
  readonly expires: number
  readonly passphraseFile?: string
}

interface Bundle {
  readonly name: string
  readonly version: number
  readonly expiresAt: string
}

const weekMs = 7 * 86_400_000
const secretMode = 0o600
/** scrypt with N = 2^16: 64 MiB for some 0.3 s. */
const workFactor = 16

export function addBundleCommand(node: Command, run: RunAction): void {
  node
    .command('bundle <name>')
    .description('write a file with which a new node can start while the control plane is away')
    .option('-o, --output <file>', 'where to; it must not exist (default: NAME.bundle)')
    .option('--label <key=value>', 'label that the node gets (repeatable)', collectLabel, {})
    .option('--expires <duration>', 'how long the node can join by it', parseDuration, weekMs)
    .option('--passphrase-file <file>', 'seal the file to this passphrase')
    .action((name: string, options: BundleOptions) =>
      run((session) => bundle(session, name, options)),
    )
}

async function bundle(session: Session, name: string, options: BundleOptions): Promise<void> {
  const { label, expires, passphraseFile, output = `${name}.bundle` } = options
  const passphrase = passphraseFile === undefined ? undefined : readPassphrase(passphraseFile)
  const { body } = await session.admin.send('POST', 'node-bundles', {
    body: { name, labels: label, expiresInSeconds: expires / 1000 },
  })
  const text = `${JSON.stringify(body, null, 2)}\n`
  const content = passphrase === undefined ? text : await sealed(text, passphrase)
  try {
    await writeFile(output, content, { flag: 'wx', mode: secretMode })
  } catch (error) {
    throw new CommandFailure(exitCodes.usage, `cannot write ${output}: ${messageOf(error)}`)
  }
  const { version, expiresAt } = body as Bundle
  const secrets = passphrase === undefined ? 'It holds private keys in the clear.' : 'It is sealed.'
  show(session, { name, version, expiresAt, file: output }, () =>
    [
      `${output}: version ${version} for node ${name}, to join by until ${timeText(expiresAt)}. ${secrets}`,
      `Start the node: sluice-node run --control-plane HOST:PORT --bundle ${output}`,
    ].join('\n'),
  )
}

function sealed(text: string, passphrase: string): Promise<Uint8Array> {
  const encrypter = new Encrypter()
  encrypter.setScryptWorkFactor(workFactor)
  encrypter.setPassphrase(passphrase.normalize('NFC'))
  return encrypter.encrypt(text)
}
