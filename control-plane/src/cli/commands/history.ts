/** `sluice history`: nodes that run what the control plane never published, as after an older backup was restored. */
import type { Command } from 'commander'
import { type RunAction, show } from '../session.ts'

interface History {
  readonly isBehind: boolean
  readonly newestVersion: number
  readonly newestVersionSeen: number | null
  readonly nodesAhead: readonly string[]
}

export function addHistoryCommands(program: Command, run: RunAction): void {
  const history = program
    .command('history')
    .description('whether nodes run versions that this control plane never published')
    .action(() =>
      run(async (session) => {
        show(session, (await session.admin.get('history')) as History, historyText)
      }),
    )
  history
    .command('accept')
    .description('go on with what the control plane has, and send it to all nodes')
    .action(() =>
      run(async (session) => {
        const { body } = await session.admin.send('POST', 'history/accept')
        show(session, body as History, historyText)
      }),
    )
}

function historyText({ isBehind, newestVersion, newestVersionSeen, nodesAhead }: History): string {
  if (!isBehind)
    return `the newest version is ${newestVersion}; all that nodes run was published here`
  return [
    `nodes run versions that were never published here, up to ${newestVersionSeen}; the newest here is ${newestVersion}: ${nodesAhead.join(', ')}`,
    'No node that runs anything is changed. Restore a newer backup, or go on with what is here:',
    '  sluice history accept',
  ].join('\n')
}
