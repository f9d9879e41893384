/** The steady load of `bench:engine`: one rate, evenly spaced and open loop, where every answer must be right. */
import type { LatencySummary, LoadResult } from './load-plan.ts'
import { runLoad } from './run-load.ts'

/** Waited for after the last due time; what is unanswered then is reported so. */
const LAST_ANSWER_MS = 2_000

export interface SteadyLoad {
  readonly port: number
  readonly host: string
  readonly path: string
  readonly bodyBytes: number
  readonly connections: number
  readonly perSecond: number
  readonly seconds: number
  /** At the same rate before the measured seconds; its requests are counted apart. */
  readonly warmUpSeconds: number
}

export interface SteadyReport {
  /** All answers, those of the warm-up included: what CPU time is divided by. */
  readonly answered: number
  /** Due and not answered: a proxy or a generator that did not keep up. */
  readonly unanswered: number
  /** From the due time to the last byte; the length of the run for what was not answered. */
  readonly latencyUs: Percentiles
  /** From the due time to the moment when the generator came to it: its own fault. */
  readonly latenessUs: Percentiles
}

interface Percentiles {
  readonly p50: number
  readonly p99: number
  readonly most: number
}

/**
 * The generator spins between requests, since its loop would sleep whole milliseconds; so it runs only when
 * nothing else wants its CPU: the origin goes first.
 */
export async function applySteadyLoad(cpus: string, load: SteadyLoad): Promise<SteadyReport> {
  const { port, host, path, bodyBytes, connections, perSecond, seconds, warmUpSeconds } = load
  const result = await runLoad(
    {
      targets: [{ address: '127.0.0.1', port }],
      requests: [{ method: 'GET', path, host }],
      connections,
      schedule: { kind: 'constant', perSecond, seconds },
      warmUpSeconds,
      pace: 'spin',
      assign: 'shared',
      deadlineMs: 0,
      timeoutMs: LAST_ANSWER_MS,
      isConnectionPerRequest: false,
      expected: { status: 200, bodyBytes },
      sourceAddresses: [],
    },
    { processors: cpus, schedulingPolicy: 'idle' },
  )
  return reportOf(result)
}

function reportOf(result: LoadResult): SteadyReport {
  const { errors, otherStatuses, unsent, latency, lag } = result
  const { timeout, ...others } = errors
  const failed = Object.entries({ ...others, ...otherStatuses }).filter(([, count]) => count > 0)
  if (failed.length > 0) {
    const list = failed.map(([name, count]) => `${name}: ${count}`).join(', ')
    throw new Error(`the steady generator saw failed requests: ${list}`)
  }
  return {
    answered: result.answeredInAll,
    unanswered: timeout + unsent,
    latencyUs: withUnanswered(percentilesOf(latency.schedule), result),
    latenessUs: percentilesOf(lag),
  }
}

function percentilesOf({ p50, p99, max }: LatencySummary): Percentiles {
  return { p50, p99, most: max }
}

/** What was not answered took at least as long as the run: left out, it would make a starved run look fast. */
function withUnanswered(answered: Percentiles, result: LoadResult): Percentiles {
  const { ok, scheduled, seconds } = result
  const share = scheduled === 0 ? 0 : ok / scheduled
  const at = (wanted: number, value: number) => (share < wanted ? seconds * 1e6 : value)
  return { p50: at(0.5, answered.p50), p99: at(0.99, answered.p99), most: at(1, answered.most) }
}
