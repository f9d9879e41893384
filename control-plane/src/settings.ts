/** Flags and environment, checked and frozen. Every flag is also SLUICE_<FLAG> in the environment. */
import { isIPv4, isIPv6 } from 'node:net'
import { Command, InvalidArgumentError, Option } from 'commander'
import { limits } from './model/limits.ts'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

export interface Settings {
  readonly dataDir: string
  readonly admin: ListenAddress
  readonly fleet: ListenAddress
  readonly fleetNames: readonly string[]
  readonly masterKeyFile: string | undefined
  /** Base64, from the environment only: arguments are visible to all users of a machine. */
  readonly masterKey: string | undefined
  readonly masterKeyBefore: string | undefined
  readonly masterKeyCommand: string | undefined
  /** internal: a certificate of the internal CA. */
  readonly adminTls: 'internal' | undefined
  readonly adminTlsCert: string | undefined
  readonly adminTlsKey: string | undefined
  readonly adminInsecure: boolean
  readonly auditDays: number
  readonly logFormat: 'json' | 'pretty'
  readonly logLevel: string
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'silent']

const commandsHelp = `
Commands, with --help of their own:
  backup <file>   back the data directory up, also while the control plane runs
  verify <file>   check a backup
  restore <file>  make a data directory from a backup`

/** Ends the process for --help, --version and flags that are wrong, as commander does. */
export function readSettings(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
): Settings {
  const command = new Command('sluice-control-plane')
    .description('The control plane of a Sluice fleet: admin API, fleet server and their data.')
    .version(version)
    .addOption(flag('--data-dir <dir>', 'where everything is kept').default('.sluice'))
    .addOption(
      flag('--admin <address>', 'address of the admin API')
        .argParser(parseAddress)
        .default(parseAddress('127.0.0.1:7400'), '127.0.0.1:7400'),
    )
    .addOption(
      flag('--fleet <address>', 'address of the fleet server (gRPC)')
        .argParser(parseAddress)
        .default(parseAddress('127.0.0.1:7401'), '127.0.0.1:7401'),
    )
    .addOption(
      flag(
        '--fleet-name <name>',
        'another DNS name or IP address of the fleet server; repeatable, or with commas',
      )
        .argParser(collectNames)
        .default([], 'none'),
    )
    .addOption(
      flag('--audit-days <days>', 'how long rows of the audit log are kept')
        .argParser(parseDays)
        .default(730),
    )
    .addOption(
      flag('--log-format <format>', 'JSON lines, or text for people')
        .choices(['json', 'pretty'])
        .default('json'),
    )
    .addOption(
      flag('--log-level <level>', 'the least that is logged').choices(levels).default('info'),
    )
    .allowExcessArguments(false)
    .addHelpText('after', commandsHelp)
  for (const option of [...masterKeyOptions(), ...adminTlsOptions()]) command.addOption(option)
  command.parse(argv, { from: 'user' })
  const options = command.opts()
  if ((options.adminTlsCert === undefined) !== (options.adminTlsKey === undefined)) {
    command.error('error: --admin-tls-cert and --admin-tls-key need each other')
  }
  return Object.freeze({
    dataDir: options.dataDir,
    admin: options.admin,
    fleet: options.fleet,
    fleetNames: options.fleetName,
    masterKeyFile: options.masterKeyFile,
    masterKey: environment.SLUICE_MASTER_KEY,
    masterKeyBefore: environment.SLUICE_MASTER_KEY_BEFORE,
    masterKeyCommand: options.masterKeyCommand,
    adminTls: options.adminTls,
    adminTlsCert: options.adminTlsCert,
    adminTlsKey: options.adminTlsKey,
    adminInsecure: options.adminInsecure,
    auditDays: options.auditDays,
    logFormat: options.logFormat,
    logLevel: options.logLevel,
  })
}

function masterKeyOptions(): Option[] {
  return [
    flag(
      '--master-key-file <file>',
      'file with the key that seals secrets (default: DATA_DIR/master-key, made if missing; SLUICE_MASTER_KEY, base64 of 32 bytes, comes first)',
    ),
    flag(
      '--master-key-command <command>',
      'command of the shell that prints that key, within 10 s',
    ).conflicts('masterKeyFile'),
  ]
}

function adminTlsOptions(): Option[] {
  return [
    flag('--admin-tls <source>', 'serve the admin API with a certificate of the internal CA')
      .choices(['internal'])
      .conflicts(['adminTlsCert', 'adminTlsKey']),
    flag('--admin-tls-cert <file>', 'certificate chain of the admin API, PEM'),
    flag('--admin-tls-key <file>', 'its private key, PEM; both are read again on change'),
    flag(
      '--admin-insecure',
      'let the admin API listen beyond this machine without TLS, behind a proxy that ends it',
    ).default(false),
  ]
}

function flag(flags: string, description: string): Option {
  const option = new Option(flags, description)
  return option.env(`SLUICE_${option.name().replaceAll('-', '_').toUpperCase()}`)
}

function parseAddress(text: string): ListenAddress {
  const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? []
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
  const isHost = isIPv6(bare) ? bare !== host : isIPv4(host) || /^[a-z0-9.-]+$/i.test(host)
  if (!isHost || Number(port) > 65_535) {
    throw new InvalidArgumentError('It must be HOST:PORT or [IPV6]:PORT.')
  }
  return Object.freeze({ host: bare, port: Number(port) })
}

function parseDays(text: string): number {
  const days = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (days < 1 || days > limits.auditDaysMax) {
    throw new InvalidArgumentError(`It is not a whole number from 1 to ${limits.auditDaysMax}.`)
  }
  return days
}

function collectNames(text: string, earlier: readonly string[]): string[] {
  const names = text.split(',').map((name) => name.trim().toLowerCase())
  const bad = names.find((name) => !/^[a-z0-9:.-]{1,253}$/.test(name))
  if (bad !== undefined) throw new InvalidArgumentError(`"${bad}" is not a name or an address.`)
  return [...earlier, ...names]
}
