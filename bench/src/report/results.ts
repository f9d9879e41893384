/** bench/RESULTS.md: the current results, from records alone. */
import type { Report } from '../summary/report-record.ts'
import { renderMarkdown } from './markdown.ts'

export function renderResults(reports: readonly Report[]): string {
  const parts = reports.map((report) => renderMarkdown(report).replace(/^(#+) /gm, '$1# '))
  return `# Results

Written by \`npm run bench -- report DIR... --results\` from the records of the runs below, and by nobody's hand. Local runs over loopback: ratios within one table compare, absolute figures belong to this machine and day.

${parts.join('\n')}`
}
