/** One run: a proxy is started, warmed up, loaded, watched and stopped; what was seen becomes one record. */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Bound,
  type RunRecord,
  SCHEMA,
  type ScenarioPlan,
  type SeriesRow,
} from '../artifacts/records.ts'
import { runLoad } from '../load/run-load.ts'
import { calibrate, measureHiccups } from '../machine/noise.ts'
import { memoryOf, usageOf } from '../machine/process-tree.ts'
import { QUIET_GATE, waitForQuiet } from '../machine/quiet-gate.ts'
import type { Origin } from '../origin/origin.ts'
import type { Peer, RunningPeer } from '../peers/peer.ts'
import { freePort } from '../programs.ts'
import type { Suite } from '../suites/suite.ts'
import { figuresOf, type LoadFigures, plansOf } from './generator-load.ts'
import type { Turn } from './order.ts'
import { type Processors, RunWatch, type SecondSample, type Watched } from './run-watch.ts'
import { runWrk } from './wrk-load.ts'

const SETTLE_MS = 2_000
const HICCUP_MS = 50
const BUSY = 0.95
const DIRECT_SHARE = 0.85
const IDLE = 0.05
const IDLE_NOTHING = { processes: () => [], requestProcesses: () => [] }

export interface RunSetting {
  readonly folder: string
  readonly origin: Origin
  readonly processors: Processors
  readonly certificateFile: string
  readonly keyFile: string
  readonly suite: Suite
  readonly pace: 'tick' | 'wait' | 'spin'
  readonly seed: number
  readonly calibrationMs: number
  readonly isStock: boolean
  readonly signal: AbortSignal
}

export interface RunRequest {
  readonly scenario: ScenarioPlan
  readonly turn: Turn
  /** Absent: the origin alone. */
  readonly peer?: Peer
  readonly version: string
  readonly round: number
  readonly pos: number
  readonly attempt: number
  /** Good answers per second of the origin alone by the same load. */
  readonly directRps: number | null
  /** Longest to wait until the CPUs are idle. */
  readonly quietWaitMs: number
}

export interface MeasuredRun {
  readonly waitedMs: number
  readonly record: RunRecord
  readonly rows: readonly SeriesRow[]
  readonly raw: string
}

export async function measureRun(request: RunRequest, setting: RunSetting): Promise<MeasuredRun> {
  const { peer, scenario } = request
  if (peer === undefined) return measure(request, setting, undefined)
  const folder = join(
    setting.folder,
    `${peer.name}-${scenario.key}-${request.round}-${request.pos}`,
  )
  await mkdir(folder, { recursive: true })
  const running = await peer.start({
    folder,
    port: await freePort(),
    tlsPort: await freePort(),
    origins: setting.origin.addresses,
    certificateFile: setting.certificateFile,
    keyFile: setting.keyFile,
    ...(setting.suite.logsRequests ? { accessLogFile: join(folder, 'access.log') } : {}),
    processors: setting.processors.proxy,
    hosts: setting.suite.hosts,
    isStock: setting.isStock,
  })
  try {
    return await measure(request, setting, running)
  } finally {
    await running.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function measure(
  request: RunRequest,
  setting: RunSetting,
  running: RunningPeer | undefined,
): Promise<MeasuredRun> {
  const { scenario } = request
  const rest = await lookAtRest(scenario, running)
  const { waitedMs } = await waitForQuiet({
    ...QUIET_GATE,
    processors: [setting.processors.proxy, setting.processors.load],
    quietMs: setting.suite.quietMs,
    waitMsMax: request.quietWaitMs,
  })
  const calibration = Math.max(1, calibrate().ms / setting.calibrationMs)
  const hiccups = measureHiccups(HICCUP_MS)
  const watched: Watched = {
    ...(running ?? IDLE_NOTHING),
    processes: () => running?.processes() ?? [],
    requestProcesses: () => running?.requestProcesses() ?? [],
    originProcesses: () => setting.origin.processes(),
  }
  const watch = new RunWatch(watched, setting.processors)
  const loaded = await applyLoad(request, setting, running, watch)
  const memoryAfter = running === undefined ? null : memoryOf(running.processes()).privateBytes
  const witness = (await running?.witness()) ?? []
  const surroundings = watch.surroundings(loaded.figures.processorNs)
  const cpu = watch.processor(rest.idleShare)
  const memoryLater = await lookLater(request, setting, running)
  const record = recordOf(request, loaded, {
    cpu,
    mem: {
      idle: rest.bytes,
      loaded: scenario.kind === 'capacity' ? null : memoryAfter,
      after: memoryLater,
    },
    env: { ...surroundings, calibration, hiccup_p99_us: hiccups.p99Us },
    net: watch.network(loaded.figures.exhausted),
    witness,
  })
  return {
    waitedMs,
    record,
    rows: withSamples(loaded.figures.windows, watch.samples),
    raw: loaded.raw,
  }
}

/** Before any request: what the proxy holds and does when nobody asks. */
async function lookAtRest(
  { kind }: ScenarioPlan,
  running: RunningPeer | undefined,
): Promise<{ bytes: number | null; idleShare: number | null }> {
  if (running === undefined || kind !== 'steady') return { bytes: null, idleShare: null }
  const before = usageOf(running.processes()).runNs
  const from = performance.now()
  await delay(SETTLE_MS)
  const pids = running.processes()
  const share = (usageOf(pids).runNs - before) / ((performance.now() - from) * 1e6)
  return { bytes: memoryOf(pids).privateBytes, idleShare: Math.max(0, share) }
}

/** What the proxy keeps once it had time to give back what the load made it take. */
async function lookLater(
  { scenario, round, turn }: RunRequest,
  { suite, signal }: RunSetting,
  running: RunningPeer | undefined,
): Promise<number | null> {
  const isAsked = scenario.kind === 'steady' && round === 0 && turn.role === 'measured'
  if (running === undefined || !isAsked || suite.lookLaterMs === undefined) return null
  await delay(suite.lookLaterMs, undefined, { signal }).catch(() => undefined)
  return signal.aborted ? null : memoryOf(running.processes()).privateBytes
}

interface AppliedLoad {
  readonly figures: LoadFigures
  readonly originRequests: number
  readonly startedAtMs: number
  readonly raw: string
}

async function applyLoad(
  request: RunRequest,
  setting: RunSetting,
  running: RunningPeer | undefined,
  watch: RunWatch,
): Promise<AppliedLoad> {
  const target = targetOf(setting, running)
  return request.scenario.tool === 'wrk'
    ? applyWrk(request, setting, target, watch)
    : applyGenerator(request, setting, target, watch)
}

function targetOf(
  { origin }: RunSetting,
  running: RunningPeer | undefined,
): { port: number; tlsPort: number } {
  if (running !== undefined) return running.setting
  const port = Number(origin.addresses[0]?.split(':').at(-1))
  return { port, tlsPort: port }
}

async function applyWrk(
  { scenario }: RunRequest,
  setting: RunSetting,
  target: { readonly port: number; readonly tlsPort: number },
  watch: RunWatch,
): Promise<AppliedLoad> {
  const wrk = {
    folder: join(setting.folder, 'wrk'),
    processors: setting.processors.load,
    port: scenario.protocol === 'https' ? target.tlsPort : target.port,
    host: setting.suite.hosts[0] ?? 'localhost',
    signal: setting.signal,
  }
  if (scenario.warmUpSeconds > 0)
    await runWrk(scenario, { ...wrk, seconds: scenario.warmUpSeconds })
  const before = await setting.origin.counts()
  const startedAtMs = Date.now()
  watch.begin()
  const result = await runWrk(scenario, { ...wrk, seconds: scenario.seconds }).finally(() =>
    watch.end(),
  )
  const after = await setting.origin.counts()
  const { ok, badStatus, errors, bytes, seconds, processorNs, output } = result
  const failed = badStatus + Object.values(errors).reduce((sum, count) => sum + count, 0)
  const figures: LoadFigures = {
    seconds,
    scheduled: ok + failed,
    ok,
    status: badStatus === 0 ? {} : { '4xx or 5xx': badStatus },
    errors,
    shed: 0,
    unsent: 0,
    bytes,
    latency: null,
    encoded: null,
    lag: null,
    burstIndex: null,
    startsPerMs: [],
    tailMeans: null,
    exhausted: { ports: 0, files: 0 },
    connectionsOpened: scenario.connections,
    handshakes: { full: 0, resumed: 0 },
    processorNs,
    answeredBefore: 0,
    windows: [],
  }
  return { figures, originRequests: after.requests - before.requests, startedAtMs, raw: output }
}

async function applyGenerator(
  { scenario }: RunRequest,
  setting: RunSetting,
  target: { readonly port: number; readonly tlsPort: number },
  watch: RunWatch,
): Promise<AppliedLoad> {
  const plans = plansOf(scenario, {
    target: {
      ...target,
      host: setting.suite.hosts[0] ?? 'localhost',
      authorityFile: setting.certificateFile,
    },
    pace: setting.pace,
    seed: setting.seed,
    requests: setting.suite.requests,
  })
  const before = await setting.origin.counts()
  const startedAtMs = Date.now()
  let isBegun = false
  let over: NodeJS.Timeout | undefined
  const begin = () => {
    if (isBegun) return
    isBegun = true
    watch.begin()
    // The generator still encodes its histograms after its last second: that is not the run.
    over = setTimeout(() => watch.end(), scenario.seconds * 1_000)
  }
  const ended = setting.signal.aborted
    ? []
    : plans.map((plan) =>
        runLoad(plan, {
          processors: setting.processors.load,
          signal: setting.signal,
          onMeasuring: begin,
        }),
      )
  const results = await Promise.all(ended).finally(() => {
    begin()
    clearTimeout(over)
    watch.end()
  })
  const figures = figuresOf(results)
  const after = await setting.origin.counts()
  const originRequests = Math.max(0, after.requests - before.requests - figures.answeredBefore)
  const raw = JSON.stringify(
    results.map(({ windows, latency, ...rest }) => rest),
    null,
    2,
  )
  return { figures, originRequests, startedAtMs, raw }
}

function recordOf(
  { scenario, turn, version, round, pos, attempt, directRps }: RunRequest,
  { figures, originRequests, startedAtMs }: AppliedLoad,
  seen: Pick<RunRecord, 'cpu' | 'mem' | 'env' | 'net' | 'witness'>,
): RunRecord {
  const answered =
    figures.ok +
    figures.errors.short +
    Object.values(figures.status).reduce((sum, count) => sum + count, 0)
  const seconds = Math.max(figures.seconds, 0.001)
  const busy = seen.cpu === null ? null : seen.cpu.run_ns / seen.cpu.elapsed_ns
  const rps = figures.ok / seconds
  return {
    schema: SCHEMA,
    proxy: turn.proxy,
    scenario: scenario.key,
    round,
    pos,
    attempt,
    role: turn.role,
    start: startedAtMs,
    end: Date.now(),
    seconds,
    tool: scenario.tool,
    scheduled: figures.scheduled,
    ok: figures.ok,
    status: figures.status,
    errors: figures.errors,
    shed: figures.shed,
    unsent: figures.unsent,
    bytes: figures.bytes,
    rps,
    all_rps: answered / seconds,
    bound: boundOf(scenario, { busy, rps, directRps, idle: seen.env.load_cpu_idle }),
    lat_us: figures.latency,
    hdr: figures.encoded,
    lag_us: figures.lag,
    burst_index: figures.burstIndex,
    starts_per_ms: figures.startsPerMs,
    tail_means_us: figures.tailMeans,
    connections_opened: figures.connectionsOpened,
    handshakes: figures.handshakes,
    generator_ns: figures.processorNs,
    origin_requests: originRequests,
    version,
    flags: [],
    ...seen,
  }
}

interface BoundFacts {
  readonly busy: number | null
  readonly rps: number
  readonly directRps: number | null
  readonly idle: number
}

/** Whose limit a throughput is. */
export function boundOf({ kind }: ScenarioPlan, { busy, rps, directRps, idle }: BoundFacts): Bound {
  if (kind === 'steady' || kind === 'ramp') return 'offered'
  if (busy !== null && busy >= BUSY) return 'proxy'
  const isNearDirect = directRps !== null && rps >= DIRECT_SHARE * directRps
  return isNearDirect || idle <= IDLE || busy === null ? 'generator' : 'latency'
}

function withSamples(rows: readonly SeriesRow[], samples: readonly SecondSample[]): SeriesRow[] {
  return rows.map((row, index) => ({ ...row, ...(samples[index] ?? { cpu: null, foreign: null }) }))
}
