/** Tables in Markdown, and what every page's report ends with. */
import type { Report } from '../../summary/report-record.ts'

export function markdownTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(heads), line(heads.map((_, index) => (index === 0 ? '-' : '-:'))), ...rows.map(line)]
}

export function footnoteLines({ footnotes }: Report): string[] {
  return footnotes.map(({ number, action, text }) => {
    const mark = action === 'fail' ? '**failed:** ' : action === 'no-rank' ? '**not ranked:** ' : ''
    return `${number}. ${mark}${text}`
  })
}

export function titleOf({ proxies }: Report, name: string): string {
  const known = proxies.find((proxy) => proxy.name === name)
  const title = known?.title ?? name
  return known === undefined || known.version === '' ? title : `${title} ${known.version}`
}

/** The row of the proxy whose table it is stands out. */
export function emphasised(report: Report, name: string, cells: readonly string[]): string[] {
  return name === report.plan.subject ? cells.map((cell) => `**${cell}**`) : [...cells]
}

export function missingRows(report: Report, columns: number): string[][] {
  return report.proxies
    .filter(({ status }) => status === 'missing' || status === 'failed')
    .map(({ name, title, status }) => [
      `${title || name} (${status === 'missing' ? 'not installed' : 'failed'})`,
      ...Array.from({ length: columns - 1 }, () => '–'),
    ])
}
