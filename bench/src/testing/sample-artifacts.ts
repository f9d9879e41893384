/** Hand-made records for tests: three proxies, five rounds, everything honest unless a test says otherwise. */
import {
  type Artifacts,
  type ParityRecord,
  type Percentiles,
  type Plan,
  type RunRecord,
  SCHEMA,
  type ScenarioPlan,
  type Series,
  type SeriesRow,
  type TlsRecord,
} from '../artifacts/records.ts'
import { Histogram } from '../load/generator/histogram.ts'

const ROUNDS = 5
const PROXIES = ['self', 'nginx', 'haproxy']
const COST_US: Readonly<Record<string, number>> = { self: 60, nginx: 30, haproxy: 40 }

export function sampleScenario(over: Partial<ScenarioPlan> = {}): ScenarioPlan {
  return {
    key: 'http1k',
    title: 'HTTP 1 KiB',
    tool: 'wrk',
    kind: 'capacity',
    protocol: 'http',
    paths: ['/1k'],
    bodyBytes: 1_024,
    connections: 64,
    isConnectionPerRequest: false,
    seconds: 10,
    warmUpSeconds: 2,
    deadlineMs: 0,
    timeoutMs: 1_000,
    hasDirect: true,
    methods: ['GET'],
    ...over,
  }
}

export const STEADY = sampleScenario({
  key: 'steady',
  title: 'HTTP steady 5,000/s',
  tool: 'generator',
  kind: 'steady',
  perSecond: 5_000,
})

export const RAMP = sampleScenario({
  key: 'ramp',
  title: 'Ramp to 40,000/s',
  tool: 'generator',
  kind: 'ramp',
  connections: 200,
  perSecond: 500,
  toPerSecond: 40_000,
  seconds: 60,
})

export function sampleRun(over: Partial<RunRecord> = {}): RunRecord {
  const proxy = over.proxy ?? 'nginx'
  const isSteady = over.scenario === 'steady'
  const seconds = over.seconds ?? 10
  const rps = over.rps ?? (isSteady ? 5_000 : 900_000 / (COST_US[proxy] ?? 20))
  const ok = over.ok ?? Math.round(rps * seconds)
  const costNs = (COST_US[proxy] ?? 20) * 1_000
  const runNs = isSteady ? ok * costNs : 0.97 * seconds * 1e9
  return {
    schema: SCHEMA,
    proxy,
    scenario: 'http1k',
    round: 0,
    pos: 0,
    attempt: 0,
    role: 'measured',
    start: 1_796_000_000_000,
    end: 1_796_000_010_000,
    seconds,
    tool: isSteady ? 'generator' : 'wrk',
    scheduled: ok,
    ok,
    status: {},
    errors: { connect: 0, read: 0, write: 0, timeout: 0, short: 0 },
    shed: 0,
    unsent: 0,
    bytes: ok * 1_300,
    rps,
    all_rps: rps,
    bound: isSteady ? 'offered' : 'proxy',
    lat_us: isSteady ? sampleLatencies(ok) : null,
    hdr: isSteady ? sampleHistograms() : null,
    lag_us: isSteady ? samplePercentiles(ok, 0.2) : null,
    burst_index: isSteady ? 1.1 : null,
    starts_per_ms: [],
    tail_means_us: null,
    connections_opened: 64,
    handshakes: { full: 0, resumed: 0 },
    generator_ns: 0,
    cpu: {
      run_ns: runNs,
      delay_ns: runNs / 100,
      elapsed_ns: seconds * 1e9,
      voluntary: ok,
      involuntary: 10,
      request_run_ns: runNs,
      threads: 1,
      allowed: ['0'],
      idle_share: 0.001,
    },
    mem: { idle: 9 * 1_048_576, loaded: 20 * 1_048_576, after: null },
    env: {
      steal: 0,
      foreign: 0.005,
      load_cpu_idle: 0.3,
      psi_some: 0.1,
      calibration: 1,
      hiccup_p99_us: 80,
    },
    net: {
      time_wait: 10,
      listen_overflows: 0,
      listen_drops: 0,
      tcp_timeouts: 0,
      out_of_ports: 0,
      out_of_files: 0,
    },
    origin_requests: ok,
    witness: [],
    version: '1.0.0',
    flags: [],
    ...over,
  }
}

export function samplePercentiles(count = 50_000, scale = 1): Percentiles {
  return {
    count,
    mean: 500 * scale,
    p50: 450 * scale,
    p75: 600 * scale,
    p90: 800 * scale,
    p95: 1_000 * scale,
    p99: 1_500 * scale,
    p999: 3_000 * scale,
    max: 6_000 * scale,
    saturated: false,
  }
}

export function sampleLatencies(count = 50_000): NonNullable<RunRecord['lat_us']> {
  return {
    service: samplePercentiles(count, 0.6),
    release: samplePercentiles(count, 0.8),
    sched: samplePercentiles(count),
  }
}

function sampleHistograms(): RunRecord['hdr'] {
  const encoded = (scale: number) => {
    const histogram = new Histogram()
    for (let index = 1; index <= 2_000; index += 1) {
      histogram.record(Math.round(scale * (300 + 40_000 / (2_001 - index))))
    }
    return histogram.encode()
  }
  return { service: encoded(0.6), release: encoded(0.8), sched: encoded(1) }
}

export const SAMPLE_TLS: TlsRecord = {
  version: 'TLSv1.3',
  cipher: 'TLS_AES_256_GCM_SHA384',
  group: 'X25519',
  fingerprint: 'AA:BB',
  isResumed: true,
}

export function sampleParity(over: Partial<ParityRecord> = {}): ParityRecord {
  const proxy = over.proxy ?? 'nginx'
  return {
    proxy,
    title: proxy,
    version: '1.0.0',
    binary: `/usr/sbin/${proxy}`,
    sha256: 'ab'.repeat(32),
    source: 'a package',
    requestHead: 'GET /1k HTTP/1.1\r\nHost: localhost\r\n\r\n',
    responseHead: 'HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n',
    requestFieldsAdded: ['X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host'],
    requestFieldsRemoved: [],
    responseFieldsAdded: [],
    responseFieldsRemoved: [],
    tls: SAMPLE_TLS,
    upstreamConnectionsPer1000: 3,
    hitsWithoutLoad: 0,
    backlog: 4_096,
    log: 'none',
    logLinesPerRequest: null,
    debug: [],
    configuration: 'server { }\n',
    configurationSha256: 'cd'.repeat(32),
    knobs: [],
    ...over,
  }
}

export function samplePlan(over: Partial<Plan> = {}): Plan {
  return {
    schema: SCHEMA,
    runId: '20261130-2350',
    suite: 'dnz',
    workloadHash: '0'.repeat(64),
    proxies: PROXIES,
    reference: 'nginx',
    subject: 'self',
    scenarios: [sampleScenario(), STEADY],
    rounds: ROUNDS,
    order: {},
    pace: 'tick',
    seed: 1,
    isStock: false,
    maxErrorRate: 0.0001,
    budgetSeconds: 900,
    notes: [],
    command: ['npm', 'run', 'bench', '--', 'run', 'dnz'],
    ...over,
  }
}

export interface SampleParts {
  readonly plan?: Partial<Plan>
  readonly environment?: Partial<Artifacts['environment']>
  readonly parity?: readonly ParityRecord[]
  readonly series?: readonly Series[]
  readonly outcome?: Partial<Artifacts['outcome']>
  /** Changes each run. */
  readonly run?: (run: RunRecord) => Partial<RunRecord>
}

export function sampleArtifacts(parts: SampleParts = {}): Artifacts {
  const plan = samplePlan(parts.plan)
  return {
    outcome: {
      schema: SCHEMA,
      end: 'complete',
      finishedAtMs: 1_796_000_600_000,
      failures: [],
      ...parts.outcome,
    },
    environment: {
      schema: SCHEMA,
      layout: '2-cpu (origin and generator share CPU 1)',
      isLocal: true,
      cpuModel: 'A CPU',
      cpus: 2,
      proxyCpus: '0',
      loadCpus: '1',
      kernel: '6.1.0',
      mitigations: {},
      limits: { openFiles: 65_536 },
      sysctls: {},
      tools: { wrk: '4.1.0', node: 'v26.10.0' },
      commit: 'abcdef0',
      isDirty: false,
      calibrationMs: 50,
      missing: {},
      startedAtMs: 1_796_000_000_000,
      ...parts.environment,
    },
    plan,
    runs: sampleRuns(plan, parts.run ?? (() => ({}))),
    parity: {
      schema: SCHEMA,
      proxies: parts.parity ?? plan.proxies.map((proxy) => sampleParity({ proxy })),
    },
    series: parts.series ?? [],
  }
}

function sampleRuns(plan: Plan, change: (run: RunRecord) => Partial<RunRecord>): RunRecord[] {
  const runs: RunRecord[] = []
  for (const { key, tool } of plan.scenarios) {
    for (let round = 0; round < plan.rounds; round += 1) {
      const entries = [
        ...plan.proxies.map((proxy) => ({ proxy, role: 'measured' as const })),
        { proxy: plan.reference, role: 'again' as const },
        { proxy: 'direct', role: 'direct' as const },
      ]
      for (const [pos, entry] of entries.entries()) {
        // Half a per cent from round to round, so that spreads are not empty; no drift.
        const wobble = 1 + (round % 2 === 0 ? 0.005 : 0)
        const plain = sampleRun({
          ...entry,
          scenario: key,
          round,
          pos: (pos + round) % entries.length,
          tool,
        })
        const rps = key === 'steady' ? plain.rps : plain.rps * wobble
        const ok = Math.round(rps * plain.seconds)
        const run = { ...plain, rps, all_rps: rps, ok, scheduled: ok, origin_requests: ok }
        const isDirect = entry.role === 'direct'
        const whole = isDirect ? { ...run, cpu: null, bound: 'generator' as const } : run
        runs.push({ ...whole, ...change(whole) })
      }
    }
  }
  return runs
}

/** A ramp that a proxy follows up to its limit. */
export function sampleRampRows(limit: number, { seconds = 60, most = 40_000 } = {}): SeriesRow[] {
  return Array.from({ length: seconds }, (_, index): SeriesRow => {
    const offered = 500 + ((most - 500) * (index + 0.5)) / seconds
    const answered = Math.min(offered, limit)
    const p99 = 800 + 2_000 * (answered / limit) ** 6
    return {
      t: index + 1,
      target_rate: 500 + ((most - 500) * (index + 1)) / seconds,
      offered_rate: offered,
      achieved_rate: answered,
      ok_rate: answered,
      requests: Math.round(answered),
      errors: 0,
      shed: 0,
      bytes: Math.round(answered * 1_300),
      bytes_per_sec: answered * 1_300,
      latency_us: { p50: 300, p90: 600, p99, p99_9: p99 * 2, max: p99 * 4 },
      latency_histogram: '',
      lag_us: { p50: 100, p99: 300 },
      cpu: Math.min(1, answered / limit),
      mem: 20 * 1_048_576,
      foreign: 0.01,
    }
  })
}

export function sampleRamp(): Artifacts {
  const limits: Readonly<Record<string, number>> = {
    self: 14_000,
    nginx: 27_000,
    haproxy: 24_000,
    direct: 38_000,
  }
  const series = Object.entries(limits).map(([proxy, limit]): Series => {
    const role = proxy === 'direct' ? 'direct' : 'measured'
    return { proxy, scenario: 'ramp', round: 0, role, rows: sampleRampRows(limit) }
  })
  return sampleArtifacts({ plan: { suite: 'ramp', scenarios: [STEADY, RAMP], rounds: 1 }, series })
}

/** Runs of a closed loop, with one step for each number of connections. */
export function sampleSweep(): Artifacts {
  const scenarios = [128, 256, 512].map((connections) =>
    sampleScenario({
      key: `c${connections}`,
      title: `2 × ${connections / 2}`,
      tool: 'generator',
      kind: 'closed',
      protocol: 'mixed',
      connections,
      methods: ['GET', 'POST'],
      hasDirect: false,
    }),
  )
  return sampleArtifacts({
    plan: { suite: 'sweep', scenarios, rounds: 1 },
    run: (run) => ({
      lat_us: sampleLatencies(run.ok),
      tail_means_us: { p50: 700, p75: 900, p90: 1_100, p95: 1_300, p99: 2_000, p999: 4_000 },
    }),
  })
}
