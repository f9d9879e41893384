/** `sluice session`: browsers that are signed in. */
import type { Command } from 'commander'
import { type RunAction, show } from '../session.ts'
import { table } from '../table.ts'
import { timeText } from '../values.ts'

interface OpenSession {
  readonly id: string
  readonly user: string
  readonly address: string
  readonly usedAt: string
  readonly expiresAt: string
}

interface OpenSessions {
  readonly items: readonly OpenSession[]
}

export function addSessionCommands(program: Command, run: RunAction): void {
  const sessions = program.command('session').description('browsers that are signed in')
  sessions
    .command('list')
    .description('list the sessions')
    .action(() =>
      run(async (session) => {
        show(session, (await session.admin.get('sessions')) as OpenSessions, sessionsText)
      }),
    )
  sessions
    .command('revoke <id>')
    .description('sign a browser out')
    .action((id: string) =>
      run(async (session) => {
        await session.admin.send('DELETE', `sessions/${encodeURIComponent(id)}`)
        show(session, { id, change: 'revoked' }, () => `session ${id} revoked`)
      }),
    )
}

function sessionsText({ items }: OpenSessions): string {
  return table(
    ['ID', 'USER', 'ADDRESS', 'LAST USED', 'ENDS'],
    items.map(({ id, user, address, usedAt, expiresAt }) => [
      id,
      user,
      address,
      timeText(usedAt),
      timeText(expiresAt),
    ]),
  )
}
