/** What decides the work, as one hash: records with different ones are not compared. */
import { createHash } from 'node:crypto'
import type { ScenarioPlan } from '../artifacts/records.ts'
import type { Suite } from '../suites/suite.ts'

/** Rates that follow from the machine's own capacity are the same rule everywhere, and not part of it. */
export function workloadHash(
  suite: Suite,
  scenarios: readonly ScenarioPlan[],
  fixedRate: number | undefined,
): string {
  const work = scenarios.map((scenario) => {
    const { seconds, warmUpSeconds, title, perSecond, toPerSecond, ...rest } = scenario
    const requests = scenario.methods.map((method) => suite.requests?.(scenario, method) ?? [])
    return { ...rest, requests, rate: fixedRate ?? null }
  })
  const facts = {
    suite: suite.name,
    hosts: suite.hosts,
    logs: suite.logsRequests,
    listeners: suite.listeners,
    work,
  }
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex')
}
