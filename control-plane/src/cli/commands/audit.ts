/** `sluice audit`: who did what. */
import { type Command, Option } from 'commander'
import { exitCodes } from '../failures.ts'
import { type Ending, type RunAction, type Session, show } from '../session.ts'
import { table } from '../table.ts'
import { parseCount, parseTime, timeText } from '../values.ts'

interface AuditRow {
  readonly number: number
  readonly time: string
  readonly who: string
  readonly via: string
  readonly address: string
  readonly action: string
  readonly object: string
  readonly result: string
}

interface AuditOptions {
  readonly limit: number
  readonly export?: true
}

interface Verdict {
  readonly isIntact: boolean
  readonly rows: number
  readonly end: { readonly number: number; readonly hash: string }
  readonly problem: string | null
}

export function addAuditCommands(program: Command, run: RunAction): void {
  const audit = program
    .command('audit')
    .description('who did what, newest first')
    .option('--limit <count>', 'how many rows', parseCount, 50)
    .option('--who <name>', 'only by this user, or token:NAME')
    .option('--action <action>', 'only this, like publish, sign-in or "POST /users"')
    .option('--object <name>', 'only about this')
    .addOption(
      new Option('--result <result>', 'only with this outcome').choices([
        'done',
        'refused',
        'failed',
      ]),
    )
    .option('--from <time>', 'since when: a time, or how long ago like 7d', parseTime)
    .option('--to <time>', 'until when', parseTime)
    .option('--export', 'all rows, oldest first, one JSON object in a line')
    .action(({ limit, export: isExport, ...filter }: AuditOptions) =>
      run(async (session) => {
        if (isExport === true) return exportRows(session, filter)
        const body = await session.admin.get('audit', { limit: String(limit), ...filter })
        show(session, body as { readonly items: readonly AuditRow[] }, rowsText)
      }),
    )
  audit
    .command('verify')
    .description('check that no row was changed or is missing')
    .action(() =>
      run(async (session): Promise<Ending> => {
        const verdict = (await session.admin.get('audit/verify')) as Verdict
        show(session, verdict, verdictText)
        return verdict.isIntact ? 0 : exitCodes.refused
      }),
    )
}

async function exportRows(
  session: Session,
  filter: Readonly<Record<string, string>>,
): Promise<void> {
  for await (const line of session.admin.lines('audit/export', filter)) session.write(line)
}

function rowsText({ items }: { readonly items: readonly AuditRow[] }): string {
  return table(
    ['NUMBER', 'TIME', 'WHO', 'VIA', 'FROM', 'ACTION', 'OBJECT', 'RESULT'],
    items.map((row) => [
      row.number,
      timeText(row.time),
      row.who,
      row.via,
      row.address,
      row.action,
      row.object,
      row.result,
    ]),
  )
}

function verdictText({ isIntact, rows, end, problem }: Verdict): string {
  const text = `${rows} rows fit, up to row ${end.number} with the hash ${end.hash}`
  return isIntact ? text : `${problem}; ${text}`
}
