/** The node's flags and environment: parsed by commander, checked by one schema, frozen. */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism, hostname } from 'node:os'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import Type, { type Static } from 'typebox'
import Value from 'typebox/value'
import { limitsHelp, readLimitChanges } from './limit-options.ts'
import type { LimitChanges } from './limits.ts'
import { parseAddress } from './supervisor/address.ts'
import { limits } from './supervisor/limits.ts'

// As a plain string: TypeBox would read a literal pattern into the type.
const NAME: string = '^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$'

const SettingsSchema = Type.Object(
  {
    /** Just one of the two: a control plane, or a file in its place. */
    controlPlane: Type.Optional(Type.String()),
    config: Type.Optional(Type.String({ minLength: 1 })),
    joinToken: Type.Optional(Type.String({ minLength: 1 })),
    bundle: Type.Optional(Type.String({ minLength: 1 })),
    bundlePassphraseFile: Type.Optional(Type.String({ minLength: 1 })),
    name: Type.String({ pattern: NAME }),
    labels: Type.Record(
      Type.String({ minLength: 1, maxLength: 63 }),
      Type.String({ maxLength: 255 }),
    ),
    dataDir: Type.String({ minLength: 1 }),
    status: Type.String(),
    workers: Type.Integer({ minimum: 1, maximum: limits.workersMax }),
    listen: Type.Record(Type.String({ minLength: 1 }), Type.String()),
    dnsServers: Type.Array(Type.String()),
    drainGraceSeconds: Type.Number({ minimum: 0, maximum: 3600 }),
    logFormat: Type.Enum(['json', 'pretty']),
    logLevel: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  },
  { additionalProperties: false },
)

export type Settings = Readonly<
  Static<typeof SettingsSchema> & {
    /** Limits of workers that are not the default ones. */
    readonly limits: LimitChanges
  }
>

export type SettingsOutcome =
  | { readonly kind: 'settings'; readonly settings: Settings }
  /** Help or version was asked for and printed. */
  | { readonly kind: 'done' }

/** All that is wrong with the flags and the environment, one sentence each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('; '))
    this.problems = problems
  }
}

export function softwareVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const content: { version?: unknown } = JSON.parse(text)
  return String(content.version)
}

/** Reads `argv` (without the program's name). The environment is read from the process by commander. */
export function readSettings(argv: readonly string[]): SettingsOutcome {
  let given: RawOptions | undefined
  const program = new Command('sluice-node')
    .description(
      'A node of a Sluice fleet: forwards traffic as its control plane says, or as a file does.',
    )
    .version(softwareVersion())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
  const run = program
    .command('run')
    .description(
      'Run the node until SIGTERM or SIGINT. SIGHUP reads the file of --config again. SIGUSR2 ' +
        'replaces the workers one by one.',
    )
    .addHelpText('after', limitsHelp())
  for (const option of runOptions()) run.addOption(option)
  run.exitOverride().action(() => {
    given = run.opts<RawOptions>()
  })
  try {
    program.parse([...argv], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return { kind: 'done' }
    throw new SettingsError([commanderText(error)])
  }
  if (given === undefined) return { kind: 'done' }
  return { kind: 'settings', settings: check(given) }
}

interface RawOptions {
  readonly controlPlane?: string
  readonly config?: string
  readonly joinToken?: string
  readonly joinTokenFile?: string
  readonly bundle?: string
  readonly bundlePassphraseFile?: string
  readonly name: string
  readonly label: Readonly<Record<string, string>>
  readonly dataDir: string
  readonly status: string
  readonly workers: number
  readonly listen: Readonly<Record<string, string>>
  readonly limit: Readonly<Record<string, string>>
  readonly dnsServer: readonly string[]
  readonly drainGrace: number
  readonly logFormat: string
  readonly logLevel: string
}

function runOptions(): Option[] {
  return [
    new Option('--control-plane <host:port>', "the control plane's fleet address").env(
      'SLUICE_CONTROL_PLANE',
    ),
    new Option(
      '--config <file>',
      'run without a control plane, from a YAML file of the documents that `sluice apply` takes',
    ).env('SLUICE_CONFIG'),
    new Option(
      '--join-token <token>',
      'needed while the data folder has no identity, or one that the control plane no longer accepts',
    )
      .env('SLUICE_JOIN_TOKEN')
      .conflicts('joinTokenFile'),
    new Option('--join-token-file <file>', 'a file that holds the join token').env(
      'SLUICE_JOIN_TOKEN_FILE',
    ),
    new Option(
      '--bundle <file>',
      'what "sluice node bundle" wrote: a version to begin with, a token to join by, name and labels',
    )
      .env('SLUICE_BUNDLE')
      .conflicts(['joinToken', 'joinTokenFile']),
    new Option('--bundle-passphrase-file <file>', 'a file with the passphrase of the bundle').env(
      'SLUICE_BUNDLE_PASSPHRASE_FILE',
    ),
    new Option('--name <name>', 'what operators call this node')
      .env('SLUICE_NAME')
      .default(hostname().toLowerCase(), "the machine's host name"),
    pairs('--label <key=value>', 'a label of this node; repeatable', 'SLUICE_LABEL'),
    new Option('--data-dir <folder>', 'identity, versions and counters that wait')
      .env('SLUICE_DATA_DIR')
      .default('.sluice/node'),
    new Option('--status <address>', 'where /healthz, /readyz, /metrics and /status are')
      .env('SLUICE_STATUS')
      .default('127.0.0.1:7410'),
    new Option('--workers <count>', 'worker processes')
      .env('SLUICE_WORKERS')
      .argParser(toNumber)
      .default(availableParallelism(), 'the CPUs that the process may use'),
    pairs('--listen <name=address>', 'overrides the address of an entry point', 'SLUICE_LISTEN'),
    new Option('--limit <name=value>', 'a limit of each worker, see below; repeatable')
      .argParser(toPairs)
      .default({}, 'none'),
    new Option(
      '--dns-server <address>',
      'ADDRESS or ADDRESS:PORT to ask for names of servers; repeatable (in the environment: comma-separated)',
    )
      .env('SLUICE_DNS_SERVER')
      .argParser(toList)
      .default([], "the system's"),
    new Option('--drain-grace <seconds>', 'how long a stop waits for open exchanges')
      .env('SLUICE_DRAIN_GRACE')
      .argParser(toNumber)
      .default(10),
    new Option('--log-format <format>', 'json or pretty').env('SLUICE_LOG_FORMAT').default('json'),
    new Option('--log-level <level>', 'the least severe level that is logged')
      .env('SLUICE_LOG_LEVEL')
      .default('info'),
  ]
}

function pairs(flags: string, description: string, variable: string): Option {
  return new Option(flags, `${description} (in the environment: comma-separated)`)
    .env(variable)
    .argParser(toPairs)
    .default({}, 'none')
}

function toNumber(text: string): number {
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number)) {
    throw new InvalidArgumentError('It is not a number.')
  }
  return number
}

function toList(text: string, before: readonly string[]): string[] {
  const parts = text.split(',').map((part) => part.trim())
  return [...before, ...parts.filter((part) => part !== '')]
}

function toPairs(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const result: Record<string, string> = { ...before }
  for (const part of text.split(',')) {
    const equals = part.indexOf('=')
    if (equals < 1) throw new InvalidArgumentError(`"${part}" is not NAME=VALUE.`)
    result[part.slice(0, equals).trim()] = part.slice(equals + 1).trim()
  }
  return result
}

function check(given: RawOptions): Settings {
  const problems: string[] = []
  const { controlPlane, config, bundle, bundlePassphraseFile } = given
  const joinToken = given.joinToken ?? readTokenFile(given.joinTokenFile, problems)
  const settings = {
    ...(controlPlane === undefined ? {} : { controlPlane }),
    ...(config === undefined ? {} : { config }),
    ...(joinToken === undefined ? {} : { joinToken }),
    ...(bundle === undefined ? {} : { bundle }),
    ...(bundlePassphraseFile === undefined ? {} : { bundlePassphraseFile }),
    name: given.name,
    labels: given.label,
    dataDir: given.dataDir,
    status: given.status,
    workers: given.workers,
    listen: given.listen,
    dnsServers: given.dnsServer,
    drainGraceSeconds: given.drainGrace,
    logFormat: given.logFormat,
    logLevel: given.logLevel,
  }
  checkSource(given, problems)
  checkAddress('--status', given.status, problems)
  for (const [name, address] of Object.entries(given.listen)) {
    checkAddress(`--listen ${name}`, address, problems)
  }
  const limitChanges = readLimitChanges(given.limit, process.env, problems)
  for (const server of given.dnsServer) checkDnsServer(server, problems)
  const isValid = Value.Check(SettingsSchema, settings)
  if (!isValid) problems.push(...Value.Errors(SettingsSchema, settings).map(schemaText))
  if (!isValid || problems.length > 0) throw new SettingsError([...new Set(problems)])
  return Object.freeze({ ...settings, limits: Object.freeze(limitChanges) })
}

/** A node has one source of versions. */
function checkSource(given: RawOptions, problems: string[]): void {
  const { config, controlPlane, joinToken, joinTokenFile, bundle } = given
  if (config === undefined && controlPlane === undefined) {
    problems.push('say where the configuration comes from: --control-plane or --config')
  }
  if (config !== undefined && controlPlane !== undefined) {
    problems.push('--config cannot be used with --control-plane: it runs a node without one')
  }
  if (config !== undefined && (joinToken ?? joinTokenFile ?? bundle) !== undefined) {
    problems.push(
      '--config cannot be used with a join token or a bundle: it runs a node without a fleet',
    )
  }
  if (controlPlane === undefined) return
  checkAddress('--control-plane', controlPlane, problems)
  if (parseAddress(controlPlane)?.host === '') {
    problems.push('--control-plane: it needs a host, like 127.0.0.1:7401')
  }
}

function readTokenFile(path: string | undefined, problems: string[]): string | undefined {
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    problems.push(`--join-token-file: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}

function checkAddress(flag: string, text: string, problems: string[]): void {
  if (parseAddress(text) !== undefined) return
  problems.push(`${flag}: "${text}" is not HOST:PORT, [IPV6]:PORT or :PORT`)
}

function checkDnsServer(text: string, problems: string[]): void {
  const { host, port } = parseAddress(text) ?? { host: text, port: 53 }
  if (isIP(host) !== 0 && port > 0) return
  problems.push(`--dns-server: "${text}" is not an IP address, or one with a port`)
}

const FLAG_OF: Readonly<Record<string, string>> = {
  joinToken: '--join-token',
  name: '--name',
  labels: '--label',
  dataDir: '--data-dir',
  workers: '--workers',
  listen: '--listen',
  drainGraceSeconds: '--drain-grace',
  logFormat: '--log-format',
  logLevel: '--log-level',
}

function schemaText(error: { readonly instancePath: string; readonly message: string }): string {
  const [field = '', ...rest] = error.instancePath.split('/').slice(1)
  return `${[FLAG_OF[field] ?? field, ...rest].join(' ')}: ${error.message}`
}

/** Commander's text says which flag; the prefix and its line breaks are of no use in one line. */
function commanderText(error: CommanderError): string {
  return error.message.replace(/^error: /, '').replaceAll('\n', ' ')
}
