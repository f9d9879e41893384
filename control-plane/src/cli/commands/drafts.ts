/** `sluice draft`: changes that are gathered before they are published together. */
import type { Command } from 'commander'
import { type Applied, appliedText, differencesText, type Outcome } from '../changes-text.ts'
import { exitCodes, type ProblemDetail, problemText } from '../failures.ts'
import { type RunAction, show } from '../session.ts'
import { table } from '../table.ts'
import { timeText } from '../values.ts'
import { stageOption } from './stages.ts'

interface DraftSummary {
  readonly name: string
  readonly author: string
  readonly baseVersion: number
  readonly updatedAt: string
  readonly resources: number
}

interface Draft extends DraftSummary {
  readonly changes: readonly Outcome[]
  readonly conflicts: readonly ProblemDetail[]
}

interface DraftCheck {
  readonly isPublishable: boolean
  readonly problems: readonly ProblemDetail[]
  readonly warnings: readonly ProblemDetail[]
}

export function addDraftCommands(program: Command, run: RunAction): void {
  const draft = program
    .command('draft')
    .description('list, show, check, publish and discard drafts; apply --draft writes them')
  draft
    .command('list')
    .description('list the drafts')
    .action(() =>
      run(async (session) => {
        show(session, (await session.admin.get('drafts')) as Drafts, draftsText)
      }),
    )
  draft
    .command('show <name>')
    .alias('diff')
    .description('show what a draft changes in the newest version')
    .action((name: string) =>
      run(async (session) => {
        show(session, (await session.admin.get(pathOf(name))) as Draft, draftText)
      }),
    )
  draft
    .command('validate <name>')
    .description('tell everything that keeps a draft from being published')
    .action((name: string) =>
      run(async (session) => {
        const { body } = await session.admin.send('POST', `${pathOf(name)}/validate`)
        const check = body as DraftCheck
        show(session, check, checkText)
        return check.isPublishable ? 0 : exitCodes.refused
      }),
    )
  draft
    .command('publish <name>')
    .option('--message <text>', 'why, kept with the version')
    .addOption(stageOption())
    .description('publish all changes of a draft as one version, or nothing')
    .action((name: string, { message, stage }: { message?: string; stage?: string }) =>
      run(async (session) => {
        const path = `${pathOf(name)}/publish`
        const { body } = await session.admin.send('POST', path, { query: { message, stage } })
        show(session, body as Applied, appliedText)
      }),
    )
  draft
    .command('discard <name>')
    .description('forget a draft')
    .action((name: string) =>
      run(async (session) => {
        await session.admin.send('DELETE', pathOf(name))
        show(session, { name, change: 'discarded' }, () => `draft ${name} discarded`)
      }),
    )
}

interface Drafts {
  readonly items: readonly DraftSummary[]
}

function pathOf(name: string): string {
  return `drafts/${encodeURIComponent(name)}`
}

function draftsText({ items }: Drafts): string {
  return table(
    ['NAME', 'AUTHOR', 'SINCE VERSION', 'UPDATED', 'RESOURCES'],
    items.map(({ name, author, baseVersion, updatedAt, resources }) => [
      name,
      author,
      baseVersion,
      timeText(updatedAt),
      resources,
    ]),
  )
}

function draftText({ changes, conflicts }: Draft): string {
  const told = conflicts.map((conflict) => `conflict: ${problemText(conflict)}`)
  return [differencesText(changes), ...told].join('\n')
}

function checkText({ isPublishable, problems, warnings }: DraftCheck): string {
  return [
    ...problems.map(problemText),
    ...warnings.map((warning) => `warning: ${problemText(warning)}`),
    isPublishable ? 'can be published' : 'cannot be published',
  ].join('\n')
}
