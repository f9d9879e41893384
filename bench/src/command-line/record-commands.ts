/** `report`, `compare` and `check`: everything that needs a record and no measurement. */
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeWhole } from '../artifacts/artifact-folder.ts'
import { readArtifacts } from '../artifacts/read-artifacts.ts'
import { writeReport } from '../artifacts/write-report.ts'
import { HONESTY_TESTS } from '../honesty/examine.ts'
import { change } from '../report/figures.ts'
import { type PageName, renderMarkdown } from '../report/markdown.ts'
import { renderResults } from '../report/results.ts'
import { aligned, renderTerminal } from '../report/terminal.ts'
import { compareReports } from '../summary/compare.ts'
import type { Report } from '../summary/report-record.ts'
import { summarise } from '../summary/summarise.ts'
import { EXIT } from './exit-code.ts'

const RESULTS_FILE = fileURLToPath(new URL('../../RESULTS.md', import.meta.url))

export interface ReportOptions {
  readonly html?: string
  readonly md?: string
  readonly like?: PageName
  readonly json?: boolean
  readonly results?: boolean
}

export async function renderRecords(
  folders: readonly string[],
  options: ReportOptions,
): Promise<number> {
  const reports: Report[] = []
  for (const folder of folders) {
    const report = await writeReport(resolve(folder), {
      ...(options.html === undefined ? {} : { html: resolve(options.html) }),
      ...(options.md === undefined ? {} : { markdown: resolve(options.md) }),
      ...(options.like === undefined ? {} : { like: options.like }),
    })
    reports.push(report)
    const text =
      options.like === undefined ? renderTerminal(report) : renderMarkdown(report, options.like)
    process.stdout.write(options.json === true ? `${JSON.stringify(report, null, 2)}\n` : text)
  }
  if (options.results === true) {
    await writeWhole(RESULTS_FILE, renderResults(reports))
    process.stderr.write(
      `wrote ${relative(dirname(RESULTS_FILE), RESULTS_FILE)} from ${folders.length} record(s)\n`,
    )
  }
  return EXIT.ok
}

export async function compareRecords(left: string, right: string): Promise<number> {
  const [one, other] = [await readArtifacts(resolve(left)), await readArtifacts(resolve(right))]
  const { refusals, rows } = compareReports(one, other)
  if (refusals.length > 0) {
    for (const refusal of refusals) process.stderr.write(`not comparable: ${refusal}\n`)
    return EXIT.usage
  }
  const lines = rows.map(({ proxy, scenario, left: before, right: after, change: by, isTie }) => [
    `${proxy}, ${scenario}`,
    `x${before.toFixed(3)}`,
    `x${after.toFixed(3)}`,
    isTie ? `~ ${change(by)}` : change(by),
  ])
  const heads = ['ratios to the reference', one.plan.runId, other.plan.runId, 'change']
  process.stdout.write(`${aligned([heads, ...lines]).join('\n')}\n`)
  return EXIT.ok
}

export async function checkRecord(folder: string): Promise<number> {
  const artifacts = await readArtifacts(resolve(folder))
  const lines: string[] = []
  let isFailed = false
  for (const { number, name, look } of HONESTY_TESTS) {
    const found = look(artifacts)
    const failed = found.some(({ action }) => action === 'fail')
    isFailed ||= failed
    const verdict = failed ? 'FAILED' : found.length === 0 ? 'ok' : `${found.length} noted`
    lines.push(`${String(number).padStart(2)} ${verdict.padEnd(9)} ${name}`)
    for (const { action, text } of found)
      lines.push(`     ${action === 'note' ? '' : `${action}: `}${text}`)
  }
  lines.push('', summarise(artifacts).verdict, '')
  process.stdout.write(lines.join('\n'))
  return isFailed ? EXIT.gate : EXIT.ok
}
