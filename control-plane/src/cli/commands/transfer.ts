/** `sluice export` and `import`: everything that is configured, as one file. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { type Applied, appliedText } from '../changes-text.ts'
import { CommandFailure, exitCodes, messageOf } from '../failures.ts'
import { type RunAction, type Session, show } from '../session.ts'
import { readFile } from './apply.ts'

interface PassphraseOptions {
  readonly passphraseFile?: string
}

interface ExportOptions extends PassphraseOptions {
  readonly file?: string
}

interface ImportOptions extends PassphraseOptions {
  readonly file: string
  readonly replace?: boolean
  readonly message?: string
}

const yaml = 'application/yaml'
const passphraseHelp = 'file with the passphrase of private keys (or SLUICE_PASSPHRASE)'

export function addTransferCommands(program: Command, run: RunAction): void {
  program
    .command('export')
    .option('-f, --file <file>', 'where to write it (default: standard output)')
    .option('--passphrase-file <file>', passphraseHelp)
    .description('write all resources as YAML; private keys sealed to a passphrase, or left out')
    .action((options: ExportOptions) => run((session) => exportAll(session, options)))
  program
    .command('import')
    .requiredOption('-f, --file <file>', 'what export wrote, - for standard input')
    .option('--passphrase-file <file>', passphraseHelp)
    .option('--replace', 'delete what is not in the file')
    .option('--message <text>', 'why, kept with the version')
    .description('publish everything that export wrote as one version, or nothing')
    .action((options: ImportOptions) => run((session) => importAll(session, options)))
}

async function exportAll(session: Session, { file, ...options }: ExportOptions): Promise<void> {
  const headers = passphraseHeaders(session, options)
  const { body } = await session.admin.send('GET', 'export', { headers })
  const text = String(body)
  if (file === undefined) {
    session.write(text.trimEnd())
    return
  }
  try {
    writeFileSync(file, text, { mode: 0o600 })
  } catch (error) {
    throw new CommandFailure(exitCodes.usage, `cannot write ${file}: ${messageOf(error)}`)
  }
  session.write(`exported to ${file}`)
}

async function importAll(
  session: Session,
  { file, replace, message, ...options }: ImportOptions,
): Promise<void> {
  const { body } = await session.admin.send('POST', 'import', {
    text: { content: await readFile(file), type: yaml },
    headers: passphraseHeaders(session, options),
    query: { message, replace: replace ? 'true' : undefined },
  })
  show(session, body as Applied, appliedText)
}

function passphraseHeaders(
  { environment }: Session,
  { passphraseFile }: PassphraseOptions,
): Record<string, string> {
  const passphrase =
    passphraseFile === undefined ? environment.SLUICE_PASSPHRASE : readPassphrase(passphraseFile)
  if (passphrase === undefined || passphrase === '') return {}
  return { 'sluice-passphrase': encodeURIComponent(passphrase) }
}

export function readPassphrase(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new CommandFailure(exitCodes.usage, `cannot read ${file}: ${messageOf(error)}`)
  }
}
