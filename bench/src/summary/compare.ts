/** Two records: ratios alone are compared, and only of the same work in the same layout. */
import type { Artifacts } from '../artifacts/records.ts'
import type { Cell } from './report-record.ts'
import { summarise } from './summarise.ts'

export interface ComparedRow {
  readonly proxy: string
  readonly scenario: string
  readonly left: number
  readonly right: number
  readonly change: number
  readonly isTie: boolean
}

export interface ComparedRecords {
  readonly refusals: readonly string[]
  readonly rows: readonly ComparedRow[]
}

export function compareReports(left: Artifacts, right: Artifacts): ComparedRecords {
  const refusals = refusalsOf(left, right)
  if (refusals.length > 0) return { refusals, rows: [] }
  const [one, other] = [summarise(left), summarise(right)]
  const rows = one.scenarios.flatMap(({ plan, cells, noiseFloor }) => {
    const same = other.scenarios.find(({ plan: { key } }) => key === plan.key)
    return cells.flatMap((cell): ComparedRow[] => {
      const twin = same?.cells.find(({ proxy }) => proxy === cell.proxy)
      const before = ratioIn(cell, plan.kind)
      const after = twin === undefined ? null : ratioIn(twin, plan.kind)
      if (before === null || after === null || cell.proxy === one.plan.reference) return []
      const change = after.median / before.median - 1
      const floor = 2 * Math.max(noiseFloor ?? 0, same?.noiseFloor ?? 0)
      const isOverlapping = before.low <= after.high && after.low <= before.high
      const isTie = isOverlapping || Math.abs(change) < floor
      return [
        {
          proxy: cell.proxy,
          scenario: plan.key,
          left: before.median,
          right: after.median,
          change,
          isTie,
        },
      ]
    })
  })
  return { refusals, rows }
}

function ratioIn(cell: Cell, kind: string): Cell['ratio'] {
  return kind === 'steady' ? cell.cpuRatio : cell.ratio
}

function refusalsOf(left: Artifacts, right: Artifacts): string[] {
  const refusals: string[] = []
  const layouts = [left.environment.layout, right.environment.layout]
  if (layouts[0] !== layouts[1]) refusals.push(`the layouts differ: ${layouts.join(' and ')}`)
  const hashes = [left.plan.workloadHash, right.plan.workloadHash].map((hash) => hash.slice(0, 12))
  if (left.plan.workloadHash !== right.plan.workloadHash) {
    refusals.push(`the workloads differ: ${hashes.join(' and ')}`)
  }
  if (left.plan.reference !== right.plan.reference) {
    refusals.push(`the references differ: ${left.plan.reference} and ${right.plan.reference}`)
  }
  return refusals
}
