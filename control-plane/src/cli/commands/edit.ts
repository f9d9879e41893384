/** `sluice edit`: one object in the operator's own editor, until the control plane takes it or they give up. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Command, createArgument } from 'commander'
import { appliedText } from '../changes-text.ts'
import { locatedProblem, parseDocuments } from '../documents.ts'
import { CommandFailure, exitCodes, RequestRefused } from '../failures.ts'
import { parseKind, type ResourceKind, settingsKind } from '../kinds.ts'
import { yamlText } from '../resource-text.ts'
import { type RunAction, type Session, show } from '../session.ts'
import { pathOf } from './resources.ts'
import { stageOption } from './stages.ts'

interface EditOptions {
  readonly message?: string
  readonly draft?: string
  readonly stage?: string
}

interface Edited {
  readonly of: ResourceKind
  readonly name: string
  readonly options: EditOptions
}

export function addEditCommand(program: Command, run: RunAction): void {
  program
    .command('edit')
    .addArgument(createArgument('<kind>', 'as for get').argParser(parseKind))
    .argument('[name]', 'the object to edit; settings have none')
    .option('--message <text>', 'why, kept with the version')
    .option('--draft <name>', 'edit it in this draft instead of publishing it')
    .addOption(stageOption())
    .description(
      'edit one object in $VISUAL or $EDITOR; what is refused comes back with the reason',
    )
    .action((of: ResourceKind, name: string | undefined, options: EditOptions) =>
      run((session) => {
        if (name === undefined && of !== settingsKind) {
          throw new CommandFailure(exitCodes.usage, `edit: which ${of.kind}?`)
        }
        return edit(session, { of, name: name ?? '', options })
      }),
    )
}

async function edit(session: Session, edited: Edited): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-edit-'))
  try {
    await editIn(join(folder, `${edited.of.kind}.yaml`), session, edited)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function editIn(file: string, session: Session, edited: Edited): Promise<void> {
  const { of, name, options } = edited
  const { draft } = options
  const path = pathOf(of, name)
  const shown = await session.admin.send('GET', path, { query: { draft } })
  let given = yamlText(of.kind, shown.body as Readonly<Record<string, unknown>>)
  let { entityTag } = shown
  let reason: string | undefined
  for (;;) {
    const written = runEditor(session, file, withReason(given, reason))
    if (withoutComments(written) === withoutComments(given)) {
      if (reason !== undefined) throw new CommandFailure(exitCodes.refused, reason)
      session.write('nothing was changed')
      return
    }
    given = withoutReason(written)
    const outcome = await put(session, edited, { file, text: given, entityTag })
    if (outcome.kind === 'done') return
    reason = outcome.reason
    // Whoever saves once more after being told means to replace what came meanwhile.
    if (outcome.kind === 'overtaken') {
      entityTag = (await session.admin.send('GET', path, { query: { draft } })).entityTag
    }
  }
}

type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'refused' | 'overtaken'; readonly reason: string }

async function put(
  session: Session,
  { of, name, options: { draft, message, stage } }: Edited,
  { file, text, entityTag }: { file: string; text: string; entityTag: string | undefined },
): Promise<Outcome> {
  try {
    const documents = parseDocuments(file, text)
    const [document, ...others] = documents
    if (document === undefined || others.length > 0 || document.kind !== of.kind) {
      return { kind: 'refused', reason: `the file must hold one document of kind ${of.kind}` }
    }
    const { kind: _, ...body } = document.resource
    try {
      const headers = entityTag === undefined ? {} : { 'if-match': entityTag }
      const sent = { body, headers, query: { draft, message, stage } }
      const { version } = await session.admin.send('PUT', pathOf(of, name), sent)
      const changes = [{ kind: of.kind, name: name || of.kind, change: 'replaced' }]
      const where = draft === undefined ? { version: Number(version) } : { draft }
      show(session, { ...where, changes }, appliedText)
      return { kind: 'done' }
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error
      if (error.status === 412) {
        const reason = 'it was changed meanwhile; what you save now replaces that'
        return { kind: 'overtaken', reason }
      }
      const lines = error.problems.map((problem) => locatedProblem(documents, problem))
      return { kind: 'refused', reason: lines.length === 0 ? error.message : lines.join('\n') }
    }
  } catch (error) {
    // What the file itself has wrong; anything else is not for an editor to mend.
    if (!(error instanceof CommandFailure) || error.exitCode !== exitCodes.usage) throw error
    return { kind: 'refused', reason: error.message }
  }
}

function runEditor({ environment }: Session, file: string, text: string): string {
  const editor = environment.VISUAL || environment.EDITOR || 'vi'
  writeFileSync(file, text, { mode: 0o600 })
  // By a shell, since the variable may hold arguments.
  const { status, error } = spawnSync('sh', ['-c', `${editor} "$1"`, 'sh', file], {
    stdio: 'inherit',
    env: environment,
  })
  if (error !== undefined || status !== 0) {
    throw new CommandFailure(exitCodes.usage, `the editor "${editor}" failed; nothing was changed`)
  }
  return readFileSync(file, 'utf8')
}

const mark = '#! '

function withReason(text: string, reason: string | undefined): string {
  if (reason === undefined) return `${text}\n`
  return `${reason.replaceAll(/^/gm, mark)}\n${text.trimEnd()}\n`
}

function withoutReason(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.startsWith(mark))
    .join('\n')
}

function withoutComments(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .trim()
}
