/** `sluice token`: what lets a new node join. */
import type { Command } from 'commander'
import { type RunAction, show } from '../session.ts'
import { table } from '../table.ts'
import { collectLabel, labelsText, parseCount, parseDuration, timeText } from '../values.ts'

interface JoinToken {
  readonly id: string
  /** Only in the answer to its creation. */
  readonly token?: string
  readonly labels: Readonly<Record<string, string>>
  readonly expiresAt: string
  readonly uses?: number
  readonly usesLeft?: number
}

interface CreateOptions {
  readonly label: Readonly<Record<string, string>>
  readonly expires: number
  readonly uses: number
}

export function addTokenCommands(program: Command, run: RunAction): void {
  const token = program.command('token').description('make, list and remove join tokens')
  token
    .command('create')
    .description('make a join token and print it; it is shown this once')
    .option('--label <key=value>', 'label that a node gets by it (repeatable)', collectLabel, {})
    .option('--expires <duration>', 'how long it can be used', parseDuration, 3_600_000)
    .option('--uses <count>', 'how many nodes may join by it', parseCount, 1)
    .action(({ label, expires, uses }: CreateOptions) =>
      run(async (session) => {
        const { body } = await session.admin.send('POST', 'join-tokens', {
          body: { labels: label, expiresInSeconds: expires / 1000, uses },
        })
        show(session, body as JoinToken, (created) => created.token ?? '')
      }),
    )
  token
    .command('list')
    .description('list the join tokens that have not expired')
    .action(() =>
      run(async (session) => {
        show(session, (await session.admin.get('join-tokens')) as JoinTokens, tokensText)
      }),
    )
  token
    .command('delete <id>')
    .description('make a join token unusable')
    .action((id: string) =>
      run(async (session) => {
        await session.admin.send('DELETE', `join-tokens/${encodeURIComponent(id)}`)
        show(session, { id, change: 'deleted' }, () => `join token ${id} deleted`)
      }),
    )
}

interface JoinTokens {
  readonly items: readonly JoinToken[]
}

function tokensText({ items }: JoinTokens): string {
  return table(
    ['ID', 'EXPIRES', 'USES LEFT', 'LABELS'],
    items.map(({ id, expiresAt, usesLeft, uses, labels }) => [
      id,
      timeText(expiresAt),
      usesLeft ?? uses,
      labelsText(labels),
    ]),
  )
}
