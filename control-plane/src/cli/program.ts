/** Composes the command line: options that all commands share, and one function per group of commands. */
import { Command, CommanderError, Option } from 'commander'
import { readAccessToken } from './access-token.ts'
import { AdminClient, parseServer, readAuthority } from './admin-client.ts'
import { addApiTokenCommands } from './commands/api-tokens.ts'
import { addApplyCommands } from './commands/apply.ts'
import { addAuditCommands } from './commands/audit.ts'
import { addDraftCommands } from './commands/drafts.ts'
import { addEditCommand } from './commands/edit.ts'
import { addExplainCommand } from './commands/explain.ts'
import { addHistoryCommands } from './commands/history.ts'
import { addLogCommands } from './commands/logs.ts'
import { addMasterKeyCommands } from './commands/master-key.ts'
import { addNodeCommands } from './commands/nodes.ts'
import { addResourceCommands } from './commands/resources.ts'
import { addSessionCommands } from './commands/sessions.ts'
import { addStageCommands } from './commands/stages.ts'
import { addStatusCommand } from './commands/status.ts'
import { addTokenCommands } from './commands/tokens.ts'
import { addTrafficCommands } from './commands/traffic.ts'
import { addTransferCommands } from './commands/transfer.ts'
import { addUserCommands } from './commands/users.ts'
import { addVersionCommands } from './commands/versions.ts'
import { CommandFailure, exitCodes } from './failures.ts'
import type { RunAction } from './session.ts'

export interface Surroundings {
  readonly environment: NodeJS.ProcessEnv
  readonly write: (text: string) => void
  readonly writeError: (text: string) => void
}

interface SharedOptions {
  readonly server: string
  readonly tokenFile?: string
  readonly ca?: string
  readonly json?: boolean
}

/** Answers the exit code; never throws for what a user can cause. */
export async function runCommandLine(
  argv: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  try {
    let exitCode = 0
    const program = buildProgram(surroundings, (ending) => {
      exitCode = ending
    })
    await program.parseAsync([...argv], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage
    if (!(error instanceof CommandFailure)) throw error
    surroundings.writeError(error.message)
    return error.exitCode
  }
}

function buildProgram(
  { environment, write, writeError }: Surroundings,
  end: (exitCode: number) => void,
): Command {
  const program = new Command('sluice')
    .description('Steers a Sluice control plane through its admin API.')
    .addOption(
      new Option('--server <url>', 'where the admin API answers (env: SLUICE_SERVER)').default(
        environment.SLUICE_SERVER || 'http://127.0.0.1:7400',
      ),
    )
    .option(
      '--token-file <file>',
      'file with the admin token or an API token (env: SLUICE_TOKEN_FILE, or the token itself in SLUICE_TOKEN; ' +
        'default: .sluice/admin-token)',
    )
    .option('--ca <file>', 'certificate that an https server is verified by, PEM (env: SLUICE_CA)')
    .option('--json', 'print what the API answers, as JSON')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => write(text.trimEnd()),
      writeErr: (text) => writeError(text.trimEnd()),
    })
    .showHelpAfterError('Run with --help to see what can be given.')
    .exitOverride()

  const run: RunAction = async (action) => {
    const { server, tokenFile, ca = environment.SLUICE_CA, json } = program.opts<SharedOptions>()
    const base = parseServer(server)
    const admin = new AdminClient(base, readAccessToken(tokenFile, environment), readAuthority(ca))
    try {
      end((await action({ admin, environment, isJson: json === true, write })) ?? 0)
    } finally {
      await admin.close()
    }
  }
  addStatusCommand(program, run)
  addResourceCommands(program, run)
  addApplyCommands(program, run)
  addEditCommand(program, run)
  addMasterKeyCommands(program, run)
  addNodeCommands(program, run)
  addHistoryCommands(program, run)
  addTokenCommands(program, run)
  addUserCommands(program, run)
  addApiTokenCommands(program, run)
  addSessionCommands(program, run)
  addAuditCommands(program, run)
  addVersionCommands(program, run)
  addStageCommands(program, run)
  addDraftCommands(program, run)
  addExplainCommand(program, run)
  addTransferCommands(program, run)
  addTrafficCommands(program, run)
  addLogCommands(program, run)
  return program
}
