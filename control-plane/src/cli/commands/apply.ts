/** `sluice apply` and `plan`: the configuration as files. */
import { readFileSync } from 'node:fs'
import { text as readStream } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { type Applied, appliedText, differencesText, type Outcome } from '../changes-text.ts'
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
import { type RunAction, type Session, show } from '../session.ts'
import { collect, parseSelector } from '../values.ts'
import { stageOption } from './stages.ts'

interface FileOptions {
  readonly file: readonly string[]
  readonly prune?: boolean
  readonly selector?: Readonly<Record<string, string>>
}

interface ApplyOptions extends FileOptions {
  readonly message?: string
  readonly draft?: string
  readonly stage?: string
}

interface Plan {
  readonly changes: readonly Outcome[]
  readonly warnings: readonly ProblemDetail[]
}

export function addApplyCommands(program: Command, run: RunAction): void {
  withFiles(program.command('apply'))
    .option('--message <text>', 'why, kept with the version')
    .option('--draft <name>', 'put it into this draft instead of publishing it')
    .addOption(stageOption())
    .description('create or replace what the files describe: all in one version, or nothing')
    .action((options: ApplyOptions) => run((session) => apply(session, options)))
  withFiles(program.command('plan'))
    .description('show what apply would change, and change nothing')
    .addHelpText(
      'after',
      `\nThe exit code is 0 when apply would change nothing, ${exitCodes.wouldChange} when it would change something.`,
    )
    .action((options: FileOptions) => run((session) => plan(session, options)))
}

function withFiles(command: Command): Command {
  return command
    .requiredOption(
      '-f, --file <file>',
      'YAML with one or more documents, - for standard input (repeatable)',
      collect,
    )
    .option('--prune', 'delete objects that match the selector and are in no file')
    .addOption(
      new Option(
        '--selector <labels>',
        'labels like team=a,env=prod that an object must all have',
      ).argParser(parseSelector),
    )
}

async function apply(session: Session, options: ApplyOptions): Promise<void> {
  const { message, draft, stage } = options
  await sendFiles('apply', options, async (content) => {
    const body = message === undefined ? content : { ...content, message }
    const answer = await session.admin.send('POST', 'apply', { body, query: { draft, stage } })
    show(session, answer.body as Applied, appliedText)
  })
}

async function plan(session: Session, options: FileOptions): Promise<number> {
  let exitCode = 0
  await sendFiles('plan', options, async (body) => {
    const answer = (await session.admin.send('POST', 'plan', { body })).body as Plan
    const isChanging = answer.changes.some(({ change }) => change !== 'unchanged')
    if (isChanging) exitCode = exitCodes.wouldChange
    show(session, answer, planText)
  })
  return exitCode
}

function planText({ changes, warnings }: Plan): string {
  return [
    differencesText(changes),
    ...warnings.map((warning) => `warning: ${problemText(warning)}`),
  ].join('\n')
}

/** Problems of what is sent are told with their places in the files. */
async function sendFiles(
  command: string,
  { file: files, prune = false, selector }: FileOptions,
  send: (content: object) => Promise<void>,
): Promise<void> {
  if (prune !== (selector !== undefined)) {
    const text = `${command}: --prune and --selector belong together`
    throw new CommandFailure(exitCodes.usage, text)
  }
  const documents: ResourceDocument[] = []
  for (const file of files) documents.push(...parseDocuments(nameOf(file), await readFile(file)))
  refuseRepetitions(documents)
  if (documents.length === 0 && !prune) {
    throw new CommandFailure(exitCodes.usage, `${files.map(nameOf).join(', ')}: no document in it`)
  }
  const resources = documents.map(({ resource }) => resource)
  try {
    await send(selector === undefined ? { resources } : { resources, prune: { selector } })
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.problems.length === 0) throw error
    const lines = error.problems.map((problem) => locatedProblem(documents, problem))
    throw new CommandFailure(error.exitCode, lines, { cause: error })
  }
}

export async function readFile(file: string): Promise<string> {
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
