/** `sluice versions`, `diff` and `rollback`: what was published, when, by whom, and the way back. */
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { type Applied, appliedText, differencesText, type Outcome } from '../changes-text.ts'
import { CommandFailure, exitCodes } from '../failures.ts'
import { type RunAction, type Session, show } from '../session.ts'
import { table } from '../table.ts'
import { parseCount, timeText } from '../values.ts'
import { stageOption } from './stages.ts'

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
  readonly previous: number | null
  readonly resources: readonly Readonly<Record<string, unknown>>[]
}

export function addVersionCommands(program: Command, run: RunAction): void {
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
  program
    .command('diff')
    .argument('[from]', 'a version', parseCount)
    .argument('[to]', 'another one', parseCount)
    .description(
      'show what differs between two versions; by default of the newest one to the one before it, with one number from that to the newest',
    )
    .action((from: number | undefined, to: number | undefined) =>
      run((session) => showDifference(session, from, to)),
    )
  program
    .command('rollback')
    .argument('<number>', 'the version to go back to', parseCount)
    .option('--message <text>', 'why, kept with the new version')
    .option('--draft <name>', 'put the changes into this draft instead of publishing them')
    .addOption(stageOption())
    .description('make the configuration what it was in a version, as a new version')
    .action(
      (
        number: number,
        { message, draft, stage }: { message?: string; draft?: string; stage?: string },
      ) =>
        run(async (session) => {
          const path = `versions/${number}/rollback`
          const { body } = await session.admin.send('POST', path, {
            query: { message, draft, stage },
          })
          show(session, body as Applied, appliedText)
        }),
    )
}

interface Difference {
  readonly from: Version
  readonly to: Version
  readonly items: readonly Outcome[]
  readonly total: number
}

async function showDifference(session: Session, from?: number, to?: number): Promise<void> {
  const newest = to ?? ((await session.admin.get('status')) as { version: number }).version
  const before = from ?? (await previousOf(session, newest))
  const items: Outcome[] = []
  for (;;) {
    const query = { limit: '1000', offset: String(items.length) }
    const path = `versions/${before}/diff/${newest}`
    const page = (await session.admin.get(path, query)) as Difference
    items.push(...page.items)
    if (page.items.length > 0 && items.length < page.total) continue
    show(session, { ...page, items }, () => differencesText(items))
    return
  }
}

async function previousOf(session: Session, number: number): Promise<number> {
  if (number > 0) {
    const { previous } = (await session.admin.get(`versions/${number}`)) as WholeVersion
    if (previous !== null) return previous
  }
  throw new CommandFailure(exitCodes.refused, 'there is no older version to compare with')
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
