/** One of the 28 ways in which a proxy benchmark becomes dishonest, looked for in what a run left behind. */
import type { Artifacts, RunRecord } from '../artifacts/records.ts'

/** note: a footnote; no-rank: the figure is printed and never ranked; fail: the run is not to be used. */
export type Action = 'note' | 'no-rank' | 'fail'

export interface Finding {
  readonly test: number
  readonly name: string
  readonly action: Action
  /** Absent: of the run as a whole. */
  readonly proxy?: string
  readonly scenario?: string
  readonly text: string
}

export type Observation = Omit<Finding, 'test' | 'name'>

export interface HonestyTest {
  readonly number: number
  readonly name: string
  look(artifacts: Artifacts): readonly Observation[]
}

/** What is wrong in one run or more of a proxy and scenario, told once with the worst of them. */
export interface Complaint {
  readonly run: RunRecord
  readonly size: number
  readonly action: Action
  readonly text: string
}

export function worstOf(complaints: readonly Complaint[]): Observation[] {
  const worst = new Map<string, Complaint>()
  for (const complaint of complaints) {
    const key = `${complaint.run.proxy} ${complaint.run.scenario}`
    const known = worst.get(key)
    if (known === undefined || known.size < complaint.size) worst.set(key, complaint)
  }
  return [...worst.values()].map(({ run, action, text }) => {
    return { action, proxy: run.proxy, scenario: run.scenario, text }
  })
}

export function percent(share: number): string {
  const value = share * 100
  return `${value >= 10 ? value.toFixed(0) : value.toPrecision(2)} %`
}

/** Proxies' own runs: what was repeated for the noise floor is measured as well. */
export function isOfProxy(run: RunRecord): boolean {
  return run.role !== 'direct'
}

export function groupedBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const name = key(item)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [item])
    else group.push(item)
  }
  return groups
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = (sorted.length - 1) / 2
  const low = sorted[Math.floor(middle)] ?? 0
  return (low + (sorted[Math.ceil(middle)] ?? low)) / 2
}
