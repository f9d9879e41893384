/** What the exit code says: 0 all is well, 1 error, 2 usage, 3 a gate failed, 4 nothing can be concluded. */
import type { Report } from '../summary/report-record.ts'
import type { Gates } from './values.ts'

export const EXIT = Object.freeze({ ok: 0, error: 1, usage: 2, gate: 3, inconclusive: 4 })

export interface Judgement {
  readonly code: number
  readonly reasons: readonly string[]
}

export function judge(report: Report, gates: Gates | undefined): Judgement {
  const failed = [...brokenGates(report, gates), ...missedObjective(report)]
  if (report.isFailed) failed.unshift('the run failed its own tests')
  if (failed.length > 0) return { code: EXIT.gate, reasons: failed }
  const measured = report.scenarios.filter(({ cells }) => cells.length > 0)
  if (measured.length === 0) return { code: EXIT.inconclusive, reasons: ['nothing was measured'] }
  const disturbed = measured.filter(({ isInconclusive }) => isInconclusive)
  if (disturbed.length === 0) return { code: EXIT.ok, reasons: [] }
  const names = disturbed.map(({ plan }) => plan.key).join(', ')
  return { code: EXIT.inconclusive, reasons: [`inconclusive: ${names}`] }
}

function brokenGates(report: Report, gates: Gates | undefined): string[] {
  if (gates === undefined) return []
  const reasons: string[] = []
  const own = report.scenarios.flatMap(({ plan, cells }) =>
    cells.filter(({ proxy }) => proxy === report.plan.subject).map((cell) => ({ plan, cell })),
  )
  if (
    gates.isNoisyFailure &&
    report.scenarios.some(({ cells }) => cells.some(({ noisyRounds }) => noisyRounds > 0))
  ) {
    reasons.push('noisy: some rounds stayed disturbed')
  }
  for (const { plan, cell } of own) {
    if (gates.isTieFailure && cell.isTie)
      reasons.push(`tie: ${cell.proxy} and ${report.plan.reference} in ${plan.key}`)
    if (gates.regression === undefined || cell.isTie) continue
    const ratio = plan.kind === 'steady' ? cell.cpuRatio : cell.ratio
    if (ratio === null) continue
    const loss = plan.kind === 'steady' ? ratio.median - 1 : 1 - ratio.median
    if (loss > gates.regression)
      reasons.push(`regression: ${plan.key} is ${(loss * 100).toFixed(1)} % worse`)
  }
  return reasons
}

function missedObjective({ plan, scenarios }: Report): string[] {
  const objective = plan.sloP99Us
  if (objective === undefined) return []
  return scenarios
    .filter(({ plan: { kind } }) => kind === 'steady')
    .flatMap(({ plan: { key }, cells }) => {
      const p99 = cells.find(({ proxy }) => proxy === plan.subject)?.latency?.sched.p99
      const isMet = typeof p99 === 'number' && p99 <= objective
      const said = typeof p99 === 'number' ? `${(p99 / 1_000).toFixed(2)} ms` : 'unknown'
      return isMet
        ? []
        : [`p99 of ${plan.subject} in ${key} is ${said}, not within ${objective / 1_000} ms`]
    })
}
