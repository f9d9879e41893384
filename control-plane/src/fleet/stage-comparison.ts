/** What the nodes of a stage answered, beside what the others did in the same time. */
import type { StagePlan } from '../model/stage-plan.ts'
import type { TrafficRecord } from '../store/telemetry.ts'
import { LatencyHistogram } from '../telemetry/histogram.ts'

const p99 = [0.99]

/** Of some nodes together. */
export class Answers {
  requests = 0
  #serverErrors = 0
  readonly #latency = new LatencyHistogram()

  add(row: TrafficRecord): void {
    const { informational, success, redirection, client_error, server_error, none } = row
    this.requests += informational + success + redirection + client_error + server_error + none
    this.#serverErrors += server_error
    this.#latency.mergePacked(row.latency)
  }

  /** Share of all requests; 0 without any. */
  get share5xx(): number {
    return this.requests === 0 ? 0 : this.#serverErrors / this.requests
  }

  get p99Us(): number {
    return this.#latency.percentilesUs(p99)[0] ?? 0
  }
}

export type Judgement =
  | { readonly kind: 'good' }
  | { readonly kind: 'bad' | 'unsure'; readonly reason: string }

/** An origin that fails for all nodes says nothing about the version, so shares are compared. */
export function judge(
  { max5xx, maxP99, minRequests }: StagePlan,
  selected: Answers,
  others: Answers,
): Judgement {
  if (max5xx === null && maxP99 === null) return { kind: 'good' }
  if (selected.requests < minRequests) {
    const reason = `its nodes answered ${selected.requests} requests, and ${minRequests} are needed to compare (min-requests)`
    return { kind: 'unsure', reason }
  }
  if (max5xx !== null && selected.share5xx - others.share5xx > max5xx) {
    const reason = `${percent(selected.share5xx)} of its answers were 5xx, and ${percent(others.share5xx)} of those of the other nodes`
    return { kind: 'bad', reason }
  }
  // Too few answers have no tail to compare with.
  if (maxP99 === null || others.requests < Math.max(1, minRequests)) return { kind: 'good' }
  if (selected.p99Us > others.p99Us * (1 + maxP99)) {
    const reason = `its p99 was ${milliseconds(selected.p99Us)}, and that of the other nodes ${milliseconds(others.p99Us)}`
    return { kind: 'bad', reason }
  }
  return { kind: 'good' }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

function milliseconds(us: number): string {
  return `${(us / 1_000).toFixed(1)} ms`
}
