/** report.md, and RESULTS.md: the tables in the columns of the page that the suite reproduces. */
import { percent } from '../honesty/honesty-test.ts'
import type { Report } from '../summary/report-record.ts'
import { renderAralez } from './pages/aralez.ts'
import { renderDnz } from './pages/dnz.ts'
import { footnoteLines, markdownTable } from './pages/markdown-table.ts'
import { renderRpxy } from './pages/rpxy.ts'
import { renderZoxy } from './pages/zoxy.ts'

export const PAGES = ['dnz', 'zoxy', 'aralez', 'rpxy'] as const
export type PageName = (typeof PAGES)[number]

const RENDERERS: Readonly<Record<PageName, (report: Report) => string[]>> = {
  dnz: renderDnz,
  zoxy: renderZoxy,
  aralez: renderAralez,
  rpxy: renderRpxy,
}

export function pageOf({ plan }: Report): PageName {
  const pages = {
    dnz: 'dnz',
    quick: 'dnz',
    ab: 'dnz',
    ramp: 'zoxy',
    sweep: 'aralez',
    rewrk: 'rpxy',
  } as const
  return pages[plan.suite]
}

export function renderMarkdown(report: Report, page: PageName = pageOf(report)): string {
  const lines = [
    `# ${report.runId}`,
    '',
    report.verdict,
    '',
    ...report.banners.map((banner) => `> ${banner}`),
    '',
    ...report.method.map((sentence) => `- ${sentence}`),
    '',
    ...RENDERERS[page](report),
    ...(report.footnotes.length === 0 ? [] : ['## Notes', '', ...footnoteLines(report), '']),
    ...surroundings(report),
  ]
  return `${lines.join('\n')}\n`
}

function surroundings({
  environment,
  plan,
  proxies,
  noiseFloor,
  repeatedRuns,
  runs,
  finishedAtMs,
}: Report): string[] {
  const facts = [
    ['date', new Date(finishedAtMs).toISOString().slice(0, 16).replace('T', ' ')],
    ['layout', environment.layout],
    ['CPU', `${environment.cpuModel}, ${environment.cpus} CPUs`],
    ['kernel', environment.kernel],
    [
      'tools',
      Object.entries(environment.tools)
        .map((pair) => pair.join(' '))
        .join(', '),
    ],
    ['commit', `${environment.commit}${environment.isDirty ? ' with changes' : ''}`],
    [
      'noise floor',
      noiseFloor === null ? 'unknown' : `${percent(noiseFloor)} (the reference against itself)`,
    ],
    ['runs', `${runs}, of which ${repeatedRuns} repeated because of noise`],
    ['workload', plan.workloadHash],
    ['command', `\`${plan.command.join(' ')}\``],
  ]
  const versions = proxies.map(({ name, version, status, reason }) => [
    name,
    version === '' ? '–' : version,
    status === 'missing' ? 'not installed' : status,
    reason.replaceAll('|', '/').replaceAll('\n', ' '),
  ])
  return [
    '## Surroundings',
    '',
    ...markdownTable(['', ''], facts),
    '',
    ...markdownTable(['proxy', 'version', 'status', 'why'], versions),
  ]
}
