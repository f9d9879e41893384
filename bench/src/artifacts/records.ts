/**
 * What a benchmark leaves behind, file by file. Everything that is printed or drawn comes from these records and
 * from nothing else; bench/schema has them as JSON Schema, bench/CONTRACT.md says how they are written.
 */
import type { LoadWindow } from '../load/load-plan.ts'

export const SCHEMA = 1

export type SuiteName = 'dnz' | 'ramp' | 'sweep' | 'rewrk' | 'quick' | 'ab'

/** What one scenario asks of every proxy. */
export interface ScenarioPlan {
  readonly key: string
  readonly title: string
  readonly tool: 'wrk' | 'generator'
  readonly kind: 'capacity' | 'steady' | 'ramp' | 'closed'
  readonly protocol: 'http' | 'https' | 'mixed'
  readonly paths: readonly string[]
  readonly bodyBytes: number
  readonly connections: number
  readonly isConnectionPerRequest: boolean
  readonly seconds: number
  readonly warmUpSeconds: number
  /** Of steady load; of a ramp its first and last rate. */
  readonly perSecond?: number
  readonly toPerSecond?: number
  readonly deadlineMs: number
  readonly timeoutMs: number
  /** Whether the origin alone is measured by the same load. */
  readonly hasDirect: boolean
  /** Processes of the generator at once: the sweep has one for GET and one for POST. */
  readonly methods: readonly ('GET' | 'POST')[]
}

/** plan.json. `workloadHash` covers what decides the work; the order and the number of rounds do not. */
export interface Plan {
  readonly schema: typeof SCHEMA
  readonly runId: string
  readonly suite: SuiteName
  readonly workloadHash: string
  readonly proxies: readonly string[]
  readonly reference: string
  readonly subject: string
  readonly scenarios: readonly ScenarioPlan[]
  readonly rounds: number
  readonly order: Readonly<Record<string, readonly (readonly string[])[]>>
  readonly pace: 'tick' | 'wait' | 'spin'
  readonly seed: number
  readonly isStock: boolean
  readonly maxErrorRate: number
  readonly sloP99Us?: number
  readonly budgetSeconds: number
  /** Why this plan is not the page's: shorter runs, fewer connections. */
  readonly notes: readonly string[]
  readonly command: readonly string[]
}

/** env.json. Holds no address but loopback's and no name of the machine. */
export interface Environment {
  readonly schema: typeof SCHEMA
  readonly layout: string
  readonly isLocal: boolean
  readonly cpuModel: string
  readonly cpus: number
  readonly proxyCpus: string
  readonly loadCpus: string
  readonly kernel: string
  readonly mitigations: Readonly<Record<string, string>>
  readonly limits: Readonly<Record<string, number>>
  readonly sysctls: Readonly<Record<string, string>>
  readonly tools: Readonly<Record<string, string>>
  readonly commit: string
  readonly isDirty: boolean
  /** Milliseconds that a fixed piece of integer work took at best. */
  readonly calibrationMs: number
  readonly missing: Readonly<Record<string, string>>
  readonly startedAtMs: number
}

export interface Percentiles {
  readonly count: number
  readonly mean: number
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
  readonly p999: number
  readonly max: number
  readonly saturated: boolean
}

export type ClockName = 'service' | 'release' | 'sched'

export interface RunErrors {
  readonly connect: number
  readonly read: number
  readonly write: number
  readonly timeout: number
  readonly short: number
}

export interface RunProcessor {
  /** Of the whole tree, on the counters' own clock. */
  readonly run_ns: number
  /** Ready to run while other programs had the CPU. */
  readonly delay_ns: number
  readonly elapsed_ns: number
  readonly voluntary: number
  readonly involuntary: number
  /** Of the processes that handle requests, where the tree has others. */
  readonly request_run_ns: number
  readonly threads: number
  /** Cpus_allowed_list of every task, each once. */
  readonly allowed: readonly string[]
  /** Share of a CPU over 5 s without load, before the run; null where it was not looked at. */
  readonly idle_share: number | null
}

export interface RunMemory {
  /** Pss_Anon over the tree: 2 s after ready, within 1 s after the load, and 30 s after it. */
  readonly idle: number | null
  readonly loaded: number | null
  readonly after: number | null
}

export interface RunSurroundings {
  /** Shares of CPU time between 0 and 1. */
  readonly steal: number
  readonly foreign: number
  readonly load_cpu_idle: number
  readonly psi_some: number
  /** Time of the calibration loop over the session's best. */
  readonly calibration: number
  readonly hiccup_p99_us: number
}

export interface RunNetwork {
  readonly time_wait: number
  readonly listen_overflows: number
  readonly listen_drops: number
  readonly tcp_timeouts: number
  readonly out_of_ports: number
  readonly out_of_files: number
}

export type Bound = 'proxy' | 'generator' | 'latency' | 'offered'

/** One line of runs.ndjson. `direct` is the name of the origin without a proxy. */
export interface RunRecord {
  readonly schema: typeof SCHEMA
  readonly proxy: string
  readonly scenario: string
  readonly round: number
  /** Place in its round, from 0. */
  readonly pos: number
  /** 0 at first, then what was repeated because of noise. */
  readonly attempt: number
  /** The reference is measured twice in each round; the second time is for the noise floor alone. */
  readonly role: 'measured' | 'again' | 'direct'
  readonly start: number
  readonly end: number
  readonly seconds: number
  readonly tool: 'wrk' | 'generator'
  readonly scheduled: number
  readonly ok: number
  readonly status: Readonly<Record<string, number>>
  readonly errors: RunErrors
  readonly shed: number
  readonly unsent: number
  readonly bytes: number
  /** Good answers per second, and answers of any kind per second. */
  readonly rps: number
  readonly all_rps: number
  readonly bound: Bound
  readonly lat_us: Readonly<Record<ClockName, Percentiles>> | null
  readonly hdr: Readonly<Record<ClockName, string>> | null
  readonly lag_us: Percentiles | null
  readonly burst_index: number | null
  readonly starts_per_ms: readonly number[]
  readonly tail_means_us: Readonly<Record<string, number>> | null
  readonly connections_opened: number
  readonly handshakes: { readonly full: number; readonly resumed: number }
  readonly generator_ns: number
  readonly cpu: RunProcessor | null
  readonly mem: RunMemory
  readonly env: RunSurroundings
  readonly net: RunNetwork
  /** What the origin counted during the run; null where it does not count. */
  readonly origin_requests: number | null
  readonly witness: readonly string[]
  readonly version: string
  readonly flags: readonly string[]
}

export interface TlsRecord {
  readonly version: string
  readonly cipher: string
  readonly group: string
  readonly fingerprint: string
  readonly isResumed: boolean
}

/** One proxy's entry of parity.json. */
export interface ParityRecord {
  readonly proxy: string
  readonly title: string
  readonly version: string
  readonly binary: string
  readonly sha256: string
  readonly source: string
  /** As the origin saw it, and as the client saw it. */
  readonly requestHead: string
  readonly responseHead: string
  readonly requestFieldsAdded: readonly string[]
  readonly requestFieldsRemoved: readonly string[]
  readonly responseFieldsAdded: readonly string[]
  readonly responseFieldsRemoved: readonly string[]
  readonly tls: TlsRecord | null
  readonly upstreamConnectionsPer1000: number | null
  /** Requests at the origin in 5 s without any client. */
  readonly hitsWithoutLoad: number | null
  readonly backlog: number | null
  readonly log: 'none' | 'file' | 'pipe' | 'sampled'
  readonly logLinesPerRequest: number | null
  /** Reasons to think that this is no release build. */
  readonly debug: readonly string[]
  readonly configuration: string
  readonly configurationSha256: string
  /** What its configuration sets beyond the program's own defaults, word for word; with --stock none. */
  readonly knobs: readonly string[]
}

export interface Parity {
  readonly schema: typeof SCHEMA
  readonly proxies: readonly ParityRecord[]
}

/** One file of series/: a row a second of one run. */
export interface Series {
  readonly proxy: string
  readonly scenario: string
  readonly round: number
  readonly role: RunRecord['role']
  readonly rows: readonly SeriesRow[]
}

export type SeriesRow = LoadWindow & {
  /** Share of a CPU in this second, by the counter's own clock; and private bytes. */
  readonly cpu?: number | null
  readonly mem?: number | null
  /** Of other processes, share of all CPUs. */
  readonly foreign?: number | null
}

/** outcome.json: how the session ended, and what could not be measured. */
export interface SessionOutcome {
  readonly schema: typeof SCHEMA
  readonly end: 'running' | 'complete' | 'interrupted' | 'budget' | 'failed'
  readonly finishedAtMs: number
  readonly failures: readonly StageFailure[]
}

export interface StageFailure {
  readonly proxy: string
  readonly scenario: string
  readonly round: number
  readonly stage: 'start' | 'parity' | 'load' | 'stop'
  readonly error: string
}

export interface Artifacts {
  readonly outcome: SessionOutcome
  readonly environment: Environment
  readonly plan: Plan
  readonly runs: readonly RunRecord[]
  readonly parity: Parity
  readonly series: readonly Series[]
}

/** The runs that count: of each place the last attempt; all others stay in the artifacts. */
export function countedRuns(artifacts: Artifacts): RunRecord[] {
  const last = new Map<string, RunRecord>()
  for (const run of artifacts.runs) {
    last.set(`${run.scenario} ${run.proxy} ${run.role} ${run.round}`, run)
  }
  return [...last.values()]
}

export function scenarioOf(artifacts: Artifacts, key: string): ScenarioPlan | undefined {
  return artifacts.plan.scenarios.find((scenario) => scenario.key === key)
}

/** Answers that are none of the expected ones, and requests that had no answer. */
export function failuresOf(run: RunRecord): number {
  const others = Object.values(run.status).reduce((sum, count) => sum + count, 0)
  const errors = Object.values(run.errors).reduce((sum, count) => sum + count, 0)
  return others + errors + run.shed + run.unsent
}

export function failureShare(run: RunRecord): number {
  const failures = failuresOf(run)
  const total = run.ok + failures
  return total === 0 ? 1 : failures / total
}

export function busyShare(run: RunRecord): number | null {
  return run.cpu === null || run.cpu.elapsed_ns === 0 ? null : run.cpu.run_ns / run.cpu.elapsed_ns
}

export function delayShare(run: RunRecord): number {
  if (run.cpu === null) return 0
  const wanted = run.cpu.run_ns + run.cpu.delay_ns
  return wanted === 0 ? 0 : run.cpu.delay_ns / wanted
}
