/** `sluice get`, `apply` and `delete`: the configuration, as objects and as files. */
import { readFileSync } from 'node:fs'
import { text as readStream } from 'node:stream/consumers'
import { type Command, createArgument } from 'commander'
import { stringify } from 'yaml'
import {
  locatedProblem,
  parseDocuments,
  type ResourceDocument,
  refuseRepetitions,
} from '../documents.ts'
import {
  CommandFailure,
  exitCodes,
  messageOf,
  type ProblemDetail,
  problemText,
  RequestRefused,
} from '../failures.ts'
import { parseDeletableKind, parseKind, type ResourceKind, settingsKind } from '../kinds.ts'
import { type RunAction, type Session, show } from '../session.ts'
import { type Cell, table } from '../table.ts'
import { collect, timeText } from '../values.ts'

type Resource = Readonly<Record<string, unknown>>

interface Page {
  readonly items: readonly Resource[]
  readonly total: number
}

interface Applied {
  readonly version: number
  readonly changes: readonly {
    readonly kind: string
    readonly name: string
    readonly change: string
  }[]
  readonly warnings?: readonly ProblemDetail[]
}

const pageSize = 100

export function addResourceCommands(program: Command, run: RunAction): void {
  const collections = 'entry-points, routers, services, certificates'
  const kind = createArgument('<kind>', `${collections} or settings`).argParser(parseKind)
  const deletable = createArgument('<kind>', collections).argParser(parseDeletableKind)
  program
    .command('get')
    .addArgument(kind)
    .argument('[name]', 'the object to show whole, as YAML that apply takes')
    .description('list the objects of a kind, or show one')
    .action((of: ResourceKind, name: string | undefined) =>
      run((session) =>
        name === undefined && of !== settingsKind ? list(session, of) : showOne(session, of, name),
      ),
    )
  program
    .command('apply')
    .requiredOption(
      '-f, --file <file>',
      'YAML to apply, - for standard input (repeatable)',
      collect,
    )
    .option('--message <text>', 'why, kept with the version')
    .description('create or replace what the files describe: all in one version, or nothing')
    .action(({ file, message }: { file: string[]; message?: string }) =>
      run((session) => apply(session, file, message)),
    )
  program
    .command('delete')
    .addArgument(deletable)
    .argument('<name>', 'the object to delete')
    .description('delete one object')
    .action((of: ResourceKind, name: string) => run((session) => remove(session, of, name)))
}

async function list(session: Session, { collection }: ResourceKind): Promise<void> {
  const items: Resource[] = []
  let total = 0
  do {
    const query = { limit: String(pageSize), offset: String(items.length) }
    const page = (await session.admin.get(collection, query)) as Page
    // An empty page ends the loop too: objects may be deleted while it runs.
    if (page.items.length === 0) break
    items.push(...page.items)
    total = page.total
  } while (items.length < total)
  show(session, { items, total: items.length }, () => listText(collection, items))
}

async function showOne(
  session: Session,
  of: ResourceKind,
  name: string | undefined,
): Promise<void> {
  const path = of === settingsKind ? 'settings' : pathOf(of, name ?? '')
  const body = (await session.admin.get(path)) as Resource
  show(session, body, () => yamlText(of.kind, body))
}

async function remove(session: Session, of: ResourceKind, name: string): Promise<void> {
  const { version } = await session.admin.send('DELETE', pathOf(of, name))
  const change = { kind: of.kind, name, change: 'deleted' }
  show(session, { version: Number(version), changes: [change] }, appliedText)
}

async function apply(session: Session, files: readonly string[], message?: string): Promise<void> {
  const documents: ResourceDocument[] = []
  for (const file of files) documents.push(...parseDocuments(nameOf(file), await read(file)))
  refuseRepetitions(documents)
  if (documents.length === 0) {
    throw new CommandFailure(exitCodes.usage, `${files.map(nameOf).join(', ')}: no document in it`)
  }
  const resources = documents.map(({ resource }) => resource)
  try {
    const body = message === undefined ? { resources } : { message, resources }
    const answer = await session.admin.send('POST', 'apply', { body })
    show(session, answer.body as Applied, appliedText)
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.problems.length === 0) throw error
    const lines = error.problems.map((problem) => locatedProblem(documents, problem))
    throw new CommandFailure(error.exitCode, lines, { cause: error })
  }
}

async function read(file: string): Promise<string> {
  try {
    return file === '-' ? await readStream(process.stdin) : readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandFailure(exitCodes.usage, `cannot read ${file}: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file
}

function pathOf({ collection }: ResourceKind, name: string): string {
  return `${collection}/${encodeURIComponent(name)}`
}

function appliedText({ version, changes, warnings = [] }: Applied): string {
  return [
    ...changes.map(({ kind, name, change }) =>
      kind === name ? `${kind} ${change}` : `${kind}/${name} ${change}`,
    ),
    ...warnings.map((warning) => `warning: ${problemText(warning)}`),
    `version ${version}`,
  ].join('\n')
}

/** The object as `apply` takes it; what only the control plane writes stands above it as comments. */
function yamlText(kind: string, resource: Resource): string {
  const written = new Set(writtenFields(resource.source))
  const entries = Object.entries(resource)
  const body = Object.fromEntries(entries.filter(([field]) => !written.has(field)))
  const notes = entries.filter(
    ([field, value]) => written.has(field) && value !== null && field !== 'chainPem',
  )
  const note = stringify(Object.fromEntries(notes)).trimEnd().replaceAll(/^/gm, '# ')
  return `${note}\n${stringify({ kind, ...body }).trimEnd()}`
}

function writtenFields(source: unknown): readonly string[] {
  if (source === 'internal') return writtenOfInternal
  return source === 'uploaded' ? writtenOfUploaded : writtenOfAll
}

const writtenOfAll = ['createdAt', 'updatedAt', 'revision', 'warnings']
const writtenOfCertificate = ['notBefore', 'notAfter', 'fingerprint', 'issuer']
const writtenOfInternal = [...writtenOfAll, ...writtenOfCertificate, 'chainPem']
const writtenOfUploaded = [...writtenOfAll, ...writtenOfCertificate, 'hosts']

function listText(collection: string, items: readonly Resource[]): string {
  const columns = listColumns[collection] ?? {}
  return table(
    Object.keys(columns),
    items.map((item) => Object.values(columns).map((cell) => cell(item))),
  )
}

const listColumns: Readonly<Record<string, Readonly<Record<string, (item: Resource) => Cell>>>> = {
  'entry-points': {
    NAME: ({ name }) => text(name),
    ADDRESS: ({ address }) => text(address),
    PROTOCOL: ({ protocol }) => text(protocol),
    'DEFAULT CERTIFICATE': ({ defaultCertificate }) => text(defaultCertificate),
    'TRUSTED PEERS': ({ trustedPeers }) => joined(trustedPeers),
  },
  routers: {
    NAME: ({ name }) => text(name),
    MATCH: ({ match }) => matchText(match),
    'ENTRY POINTS': ({ entryPoints }) => joined(entryPoints) || 'all',
    PRIORITY: ({ priority }) => text(priority),
    SERVICE: ({ service }) => text(service),
  },
  services: {
    NAME: ({ name }) => text(name),
    SERVERS: ({ servers }) => serversText(servers),
    UPDATED: ({ updatedAt }) => timeText(updatedAt),
  },
  certificates: {
    NAME: ({ name }) => text(name),
    SOURCE: ({ source }) => text(source),
    HOSTS: ({ hosts }) => joined(hosts),
    'NOT AFTER': ({ notAfter }) => timeText(notAfter),
    WARNINGS: ({ warnings }) => joined(warnings),
  },
}

function text(value: unknown): string {
  return value === undefined || value === null ? '' : String(value)
}

function joined(values: unknown): string {
  return Array.isArray(values) ? values.join(', ') : ''
}

/** `hosts=a,b pathPrefixes=/x`: the conditions that are given. */
function matchText(match: unknown): string {
  const given = Object.entries(match ?? {}).filter(
    ([, values]) => Array.isArray(values) && values.length > 0,
  )
  return given.map(([field, values]) => `${field}=${values.join(',')}`).join(' ') || 'everything'
}

function serversText(servers: unknown): string {
  if (!Array.isArray(servers)) return ''
  return servers
    .map(({ url, weight }) =>
      weight === undefined || weight === 1 ? url : `${url} (weight ${weight})`,
    )
    .join(', ')
}
