/** `sluice versions`: what was published, when, by whom; with a number, what one version holds. */
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { type RunAction, type Session, show } from '../session.ts'
import { table } from '../table.ts'
import { parseCount, timeText } from '../values.ts'

interface Version {
  readonly number: number
  readonly hash: string
  readonly author: string
  readonly message: string | null
  readonly createdAt: string
  readonly counts: Readonly<Record<'entryPoints' | 'routers' | 'services' | 'certificates', number>>
}

interface Versions {
  readonly items: readonly Version[]
}

interface WholeVersion extends Version {
  readonly resources: readonly Readonly<Record<string, unknown>>[]
}

export function addVersionCommand(program: Command, run: RunAction): void {
  program
    .command('versions')
    .argument('[number]', 'the version to show whole', parseCount)
    .option('--limit <count>', 'how many to list', parseCount, 20)
    .description('list published versions, newest first, or show one')
    .action((number: number | undefined, { limit }: { limit: number }) =>
      run((session) =>
        number === undefined ? listVersions(session, limit) : showVersion(session, number),
      ),
    )
}

async function listVersions(session: Session, limit: number): Promise<void> {
  const body = await session.admin.get('versions', { limit: String(limit) })
  show(session, body as Versions, ({ items }) =>
    table(
      ['VERSION', 'CREATED', 'AUTHOR', 'ROUTERS', 'SERVICES', 'HASH', 'MESSAGE'],
      items.map(({ number, createdAt, author, counts, hash, message }) => [
        number,
        timeText(createdAt),
        author,
        counts.routers,
        counts.services,
        hash.slice(0, 12),
        message,
      ]),
    ),
  )
}

async function showVersion(session: Session, number: number): Promise<void> {
  const body = await session.admin.get(`versions/${number}`)
  show(session, body as WholeVersion, (version) => {
    const { hash, author, message, createdAt, resources } = version
    const heading = [`# version ${number}, ${timeText(createdAt)}, by ${author}`, `# hash ${hash}`]
    if (message) heading.push(`# ${message.replaceAll('\n', '\n# ')}`)
    const documents = resources.map((resource) => stringify(resource).trimEnd())
    return [...heading, documents.join('\n---\n')].join('\n')
  })
}
