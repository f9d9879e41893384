/** `sluice master-key`: the key that seals secrets in the database. */
import type { Command } from 'commander'
import { type RunAction, show } from '../session.ts'

interface Rotation {
  readonly keyId: string
  readonly previousKeyId: string
  readonly resealed: number
}

export function addMasterKeyCommands(program: Command, run: RunAction): void {
  program
    .command('master-key')
    .description('the key that seals secrets in the database')
    .command('rotate')
    .description('make a new one, and seal everything with it while the control plane runs')
    .action(() =>
      run(async (session) => {
        const { body } = await session.admin.send('POST', 'master-key/rotate')
        show(
          session,
          body as Rotation,
          ({ keyId, previousKeyId, resealed }) =>
            `key ${keyId} took the place of ${previousKeyId}; ${resealed} values were sealed anew. Backups from before need the key before.`,
        )
      }),
    )
}
