/** `sluice get` and `delete`: the configuration, as objects. */
import { type Command, createArgument } from 'commander'
import { appliedText, draftOption } from '../changes-text.ts'
import { parseDeletableKind, parseKind, type ResourceKind, settingsKind } from '../kinds.ts'
import { yamlText } from '../resource-text.ts'
import { type RunAction, type Session, show } from '../session.ts'
import { type Cell, table } from '../table.ts'
import { timeText } from '../values.ts'
import { stageOption } from './stages.ts'

type Resource = Readonly<Record<string, unknown>>

interface Page {
  readonly items: readonly Resource[]
  readonly total: number
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
    .addOption(draftOption())
    .description('list the objects of a kind, or show one')
    .action((of: ResourceKind, name: string | undefined, { draft }: { draft?: string }) =>
      run((session) =>
        name === undefined && of !== settingsKind
          ? list(session, of, draft)
          : showOne(session, of, { name, draft }),
      ),
    )
  program
    .command('delete')
    .addArgument(deletable)
    .argument('<name>', 'the object to delete')
    .addOption(draftOption())
    .option('--message <text>', 'why, kept with the version')
    .addOption(stageOption())
    .description('delete one object')
    .action((of: ResourceKind, name: string, query: Query) =>
      run((session) => remove(session, of, { name, query })),
    )
}

async function list(
  session: Session,
  { collection }: ResourceKind,
  draft: string | undefined,
): Promise<void> {
  const items: Resource[] = []
  let total = 0
  do {
    const query = { limit: String(pageSize), offset: String(items.length), draft }
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
  { name = '', draft }: { name: string | undefined; draft: string | undefined },
): Promise<void> {
  const body = (await session.admin.get(pathOf(of, name), { draft })) as Resource
  show(session, body, () => yamlText(of.kind, body))
}

interface Query {
  readonly draft?: string
  readonly message?: string
  readonly stage?: string
}

async function remove(
  session: Session,
  of: ResourceKind,
  { name, query: { draft, message, stage } }: { readonly name: string; readonly query: Query },
): Promise<void> {
  const query = { draft, message, stage }
  const { version } = await session.admin.send('DELETE', pathOf(of, name), { query })
  const changes = [{ kind: of.kind, name, change: 'deleted' }]
  const where = draft === undefined ? { version: Number(version) } : { draft }
  show(session, { ...where, changes }, appliedText)
}

export function pathOf({ collection }: ResourceKind, name: string): string {
  if (collection === settingsKind.collection) return collection
  return `${collection}/${encodeURIComponent(name)}`
}

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
