/** The commands `backup`, `verify` and `restore` of sluice-control-plane. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { explain, StartError } from '../errors.ts'
import type { Manifest } from './archive.ts'
import { backUp } from './back-up.ts'
import { restore, verify } from './restore.ts'

const passphraseHelp = 'file with the passphrase (or SLUICE_PASSPHRASE)'

interface Passphrase {
  readonly passphraseFile?: string
}

/** `print`: takes a line for people. The commands throw StartErrors. */
export function backupCommands(softwareVersion: string, print: (line: string) => void): Command[] {
  const dataDir = () =>
    new Option('--data-dir <dir>', 'that of the control plane')
      .env('SLUICE_DATA_DIR')
      .default('.sluice')
  return [
    new Command('backup')
      .description(
        'write a backup of the data directory to a new file, also while the control plane runs',
      )
      .argument('<file>', 'a tar; with a passphrase encrypted in the format of age')
      .addOption(dataDir())
      .option('--passphrase-file <file>', passphraseHelp)
      .option(
        '--with-secrets',
        'also the master key and the admin token; needs a passphrase',
        false,
      )
      .option('--no-telemetry', 'leave counters and request logs out')
      .action(async (file: string, options) => {
        const manifest = await backUp({
          dataDir: options.dataDir,
          file,
          softwareVersion,
          nowMs: Date.now(),
          passphrase: passphraseOf(options),
          withSecrets: options.withSecrets,
          withTelemetry: options.telemetry,
        })
        print(`${file}: ${textOf(manifest)}`)
        if (!has(manifest, 'master-key')) {
          print(
            'The master key is not in it. Keep it apart: without it nothing that is sealed can be read.',
          )
        }
      }),
    new Command('verify')
      .description('read a backup, and check every file and both databases')
      .argument('<file>')
      .option('--passphrase-file <file>', passphraseHelp)
      .action(async (file: string, options) => {
        print(`${file} is whole: ${textOf(await verify(file, passphraseOf(options)))}`)
      }),
    new Command('restore')
      .description('make a data directory, which must be missing or empty, from a backup')
      .argument('<file>')
      .addOption(dataDir())
      .option('--passphrase-file <file>', passphraseHelp)
      .action(async (file: string, options) => {
        const manifest = await restore(file, options.dataDir, passphraseOf(options))
        print(`${options.dataDir}: ${textOf(manifest)}`)
        if (!has(manifest, 'master-key')) {
          const place = join(options.dataDir, 'master-key')
          print(
            `Put the master key into ${place} before you start the control plane, or name it by its flags.`,
          )
        }
        print('Nodes that run newer versions keep them until you decide: see `sluice history`.')
      }),
  ]
}

function passphraseOf({ passphraseFile }: Passphrase): string | undefined {
  if (passphraseFile === undefined) return process.env.SLUICE_PASSPHRASE || undefined
  let text: string
  try {
    text = readFileSync(passphraseFile, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw explain(error, `${passphraseFile} cannot be read`)
  }
  if (text === '') throw new StartError(`${passphraseFile} is empty`)
  return text
}

function has({ files }: Manifest, name: string): boolean {
  return files.some((one) => one.name === name)
}

function textOf({ version, madeAt, files }: Manifest): string {
  const mebibytes = files.reduce((sum, { bytes }) => sum + bytes, 0) / 2 ** 20
  const names = files.map(({ name }) => name).join(', ')
  return `version ${version} of ${madeAt} (${names}; ${mebibytes.toFixed(1)} MiB)`
}
