/** Everything that is rendered from a record, written beside it. */
import { join } from 'node:path'
import { Histogram } from '../load/generator/histogram.ts'
import { percentileTable } from '../load/generator/histogram-text.ts'
import { renderPage } from '../report/html/page.ts'
import { type PageName, renderMarkdown } from '../report/markdown.ts'
import { mergeHistograms } from '../summary/histograms.ts'
import type { Report } from '../summary/report-record.ts'
import { summarise } from '../summary/summarise.ts'
import { writeWhole } from './artifact-folder.ts'
import { readArtifacts } from './read-artifacts.ts'
import { type Artifacts, countedRuns } from './records.ts'

export interface ReportFiles {
  readonly html?: string
  readonly markdown?: string
  readonly like?: PageName
}

export async function writeReport(folder: string, files: ReportFiles = {}): Promise<Report> {
  const artifacts = await readArtifacts(folder)
  const report = summarise(artifacts)
  await writeWhole(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`)
  await writeWhole(files.html ?? join(folder, 'report.html'), renderPage(report))
  await writeWhole(files.markdown ?? join(folder, 'report.md'), renderMarkdown(report, files.like))
  await writePercentiles(folder, artifacts)
  return report
}

/** HdrHistogram's own table of every proxy and scenario, all rounds together, for other tools to plot. */
async function writePercentiles(folder: string, artifacts: Artifacts): Promise<void> {
  const runs = countedRuns(artifacts).filter(({ role, hdr }) => role === 'measured' && hdr !== null)
  const encoded = new Map<string, string[]>()
  for (const { proxy, scenario, hdr } of runs) {
    const key = `${proxy}.${scenario}`
    const list = encoded.get(key) ?? []
    if (hdr !== null && hdr.sched !== '') list.push(hdr.sched)
    encoded.set(key, list)
  }
  for (const [key, list] of encoded) {
    const merged = mergeHistograms(list) ?? new Histogram()
    await writeWhole(join(folder, `${key}.hgrm`), percentileTable(merged))
  }
}
