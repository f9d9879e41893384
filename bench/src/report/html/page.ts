/** report.html: one file that asks for nothing, from report.json alone. */
import { percent } from '../../honesty/honesty-test.ts'
import type { Report } from '../../summary/report-record.ts'
import { charts, indexOf } from './charts.ts'
import { escaped, table } from './markup.ts'
import { SCRIPT } from './script.ts'
import { strips } from './strips.ts'
import { STYLE } from './style.ts'
import { tables } from './tables.ts'

/** Of each configuration: enough for any that does what the others do. */
const CONFIGURATION_CHARACTERS_MAX = 12_000

const PROTOCOLS: Readonly<Record<Report['plan']['suite'], string>> = {
  dnz: 'capacity by wrk, latency by an open-loop generator',
  quick: 'a short look',
  ramp: 'open-loop ramp',
  sweep: 'connection sweep, closed loop',
  rewrk: '512 connections, closed loop',
  ab: 'two builds taking turns',
}

export function renderPage(report: Report): string {
  const { plan, runId } = report
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Proxy benchmark ${escaped(runId)} · ${escaped(plan.suite)}</title>
<style>${STYLE}</style>
</head>
<body><main>
<p class="eyebrow">HTTP proxy benchmark · ${escaped(PROTOCOLS[plan.suite])} · ${escaped(plan.suite)}</p>
<h1>${escaped(runId)}</h1>
<p class="verdict">${escaped(report.verdict)}</p>
${report.banners.map((text) => `<p class="banner${report.isFailed ? ' bad' : ''}">${escaped(text)}</p>`).join('\n')}
<details open><summary>How it was measured</summary><ul class="method">${report.method.map((sentence) => `<li>${escaped(sentence)}</li>`).join('')}</ul></details>
${tables(report)}
${notes(report)}
<h2>Charts</h2>
<div class="charts">${charts(report).join('\n')}</div>
${stripSection(report)}
${paritySection(report)}
${surroundings(report)}
<footer>Only ratios within one run may be compared between machines and days. Files beside this page: env.json, plan.json, runs.ndjson, series/, parity.json, report.json, raw/.</footer>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`
}

function notes({ footnotes }: Report): string {
  if (footnotes.length === 0) return ''
  const items = footnotes.map(({ action, text, test }) => {
    const mark = action === 'fail' ? 'Failed: ' : action === 'no-rank' ? 'Not ranked: ' : ''
    return `<li class="${action}">${escaped(mark + text)} <span class="status">test ${test}</span></li>`
  })
  return `<h2>Notes</h2><ol class="notes">${items.join('')}</ol>`
}

function stripSection(report: Report): string {
  const drawn = strips(report.strips, (proxy) => (proxy === 'direct' ? 10 : indexOf(report, proxy)))
  if (drawn === '') return ''
  return `<h2>Every run, second by second</h2><p class="method">Coloured: good answers; grey: p99; red: CPU of other programs, of all.</p>${drawn}`
}

function paritySection({ parity }: Report): string {
  if (parity.length === 0) return ''
  const rows = parity.map((one) => [
    one.title,
    one.requestFieldsAdded.join(', ') || 'none',
    one.responseFieldsAdded.join(', ') || 'none',
    one.tls === null ? '–' : `${one.tls.version} ${one.tls.cipher} ${one.tls.group}`,
    one.tls === null ? '–' : one.tls.isResumed ? 'yes' : 'no',
    one.upstreamConnectionsPer1000 === null ? '–' : String(one.upstreamConnectionsPer1000),
    one.hitsWithoutLoad === null ? '–' : String(one.hitsWithoutLoad),
    one.backlog === null ? '–' : String(one.backlog),
    one.log,
  ])
  const heads = [
    'Proxy',
    'adds to requests',
    'adds to answers',
    'TLS',
    'resumes',
    'connections per 1,000',
    'requests without load',
    'accept queue',
    'log',
  ]
  const more = parity.map(
    (one) =>
      `<details><summary>${escaped(one.title)} ${escaped(one.version)}: ${escaped(one.source)}</summary><p class="method">${escaped(one.binary)}, sha256 ${escaped(one.sha256)}${one.knobs.length === 0 ? '' : `; settings: ${escaped(one.knobs.join(', '))}`}</p><pre>${escaped(one.requestHead)}</pre><pre>${escaped(one.responseHead)}</pre><pre>${escaped(one.configuration.slice(0, CONFIGURATION_CHARACTERS_MAX))}</pre></details>`,
  )
  return `<h2>Equal work</h2>${table(heads, rows)}${more.join('\n')}`
}

function surroundings({
  environment,
  plan,
  noiseFloor,
  runs,
  repeatedRuns,
  finishedAtMs,
  proxies,
}: Report): string {
  const facts = [
    ['date', new Date(finishedAtMs).toISOString().slice(0, 16).replace('T', ' ')],
    ['layout', environment.layout],
    [
      'CPU',
      `${environment.cpuModel}, ${environment.cpus} CPUs; proxy ${environment.proxyCpus}, load ${environment.loadCpus}`,
    ],
    ['kernel', environment.kernel],
    [
      'tools',
      Object.entries(environment.tools)
        .map((pair) => pair.join(' '))
        .join(', '),
    ],
    ['commit', `${environment.commit}${environment.isDirty ? ' with changes' : ''}`],
    ['noise floor', noiseFloor === null ? 'unknown' : percent(noiseFloor)],
    ['runs', `${runs}, of which ${repeatedRuns} repeated because of noise`],
    ['workload', plan.workloadHash],
  ]
  const limits = [
    ...Object.entries(environment.limits),
    ...Object.entries(environment.sysctls),
    ...Object.entries(environment.mitigations),
  ]
  const absent = proxies
    .filter(({ status }) => status !== 'ok')
    .map(({ name, status, reason }) => [
      name,
      status === 'missing' ? 'not installed' : status,
      reason,
    ])
  return `<h2>Surroundings</h2>${table(['', ''], facts)}
${absent.length === 0 ? '' : table(['proxy', 'status', 'why'], absent)}
<details><summary>Limits, kernel settings, mitigations</summary>${table(
    ['', ''],
    limits.map(([name, value]) => [name, String(value)]),
  )}</details>
<h3>Command</h3><pre>${escaped(plan.command.join(' '))}</pre>`
}
