/** The composition root of a session: finds peers, makes certificate and origin, runs the rounds, ends everything. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ArtifactFolder } from '../artifacts/artifact-folder.ts'
import { type Plan, SCHEMA, type ScenarioPlan, type SessionOutcome } from '../artifacts/records.ts'
import { writeReport } from '../artifacts/write-report.ts'
import { makeCertificate } from '../certificate.ts'
import { startOrigin } from '../origin/origin.ts'
import type { Peer } from '../peers/peer.ts'
import { outputOf } from '../programs.ts'
import type { Suite, SuiteOptions } from '../suites/suite.ts'
import type { Report } from '../summary/report-record.ts'
import { fitted, paritySeconds, type SessionSize, secondsOf } from './budget.ts'
import { readEnvironment } from './environment.ts'
import type { RunSetting } from './measured-run.ts'
import { pairedTurns, turnsOf } from './order.ts'
import { readParity } from './parity-records.ts'
import { Progress } from './progress.ts'
import type { Processors } from './run-watch.ts'
import { type Contestant, Session } from './session.ts'
import { workloadHash } from './workload-hash.ts'

export interface SessionRequest {
  readonly suite: Suite
  readonly options: SuiteOptions
  readonly peers: readonly Peer[]
  readonly reference: string
  readonly subject: string
  readonly processors: Processors
  readonly pace: 'tick' | 'wait' | 'spin'
  readonly seed: number
  readonly budgetSeconds: number
  readonly attemptsMax: number
  readonly out: string
  readonly maxErrorRate: number
  readonly sloP99Us?: number
  readonly isStock: boolean
  readonly command: readonly string[]
  readonly signal: AbortSignal
}

export async function startSession(request: SessionRequest): Promise<Report> {
  const progress = new Progress(process.stderr)
  const { contestants, missing } = await findContestants(request, progress)
  // The harness must not run where the proxies are measured. What it starts is pinned by itself.
  await outputOf('taskset', ['-acp', request.processors.load, String(process.pid)])
  const environment = await readEnvironment(request.processors, missing)
  const plan = planOf(request, contestants.length)
  progress.say(announcement(plan, request, contestants.length))
  const folder = new ArtifactFolder(request.out)
  await folder.create(environment, plan)
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  try {
    const outcome = await measureAll(request, {
      plan,
      contestants,
      folder,
      directory,
      progress,
      calibrationMs: environment.calibrationMs,
    })
    await folder.writeOutcome(outcome)
  } finally {
    progress.end()
    await rm(directory, { recursive: true, force: true })
  }
  return writeReport(request.out)
}

interface SessionContext {
  readonly plan: Plan
  readonly contestants: readonly Contestant[]
  readonly folder: ArtifactFolder
  readonly directory: string
  readonly progress: Progress
  readonly calibrationMs: number
}

async function measureAll(
  request: SessionRequest,
  context: SessionContext,
): Promise<SessionOutcome> {
  const { suite, processors, signal } = request
  const { directory, folder, contestants, progress } = context
  const certificate = await makeCertificate(directory, suite.hosts)
  const origin = await startOrigin({
    folder: join(directory, 'origin'),
    processors: processors.load,
    listeners: suite.listeners,
  })
  const setting: RunSetting = {
    folder: directory,
    origin,
    processors,
    certificateFile: certificate.chainFile,
    keyFile: certificate.keyFile,
    suite,
    pace: request.pace,
    seed: request.seed,
    calibrationMs: context.calibrationMs,
    isStock: request.isStock,
    signal,
  }
  const session = new Session(context.plan, {
    folder,
    contestants,
    setting,
    progress,
    options: request.options,
    attemptsMax: request.attemptsMax,
    onPlan: (plan) => folder.writePlan(plan),
  })
  try {
    progress.say('looking at what each proxy makes of a request')
    const parity = await readParity(contestants, setting, suite.probeIdleMs)
    await folder.writeParity({ schema: SCHEMA, proxies: parity })
    return await session.run()
  } catch (error) {
    if (!signal.aborted) progress.say(error instanceof Error ? error.message : String(error))
    return session.outcome(signal.aborted ? 'interrupted' : 'failed')
  } finally {
    await origin.stop()
  }
}

async function findContestants(
  { peers }: SessionRequest,
  progress: Progress,
): Promise<{ contestants: Contestant[]; missing: Record<string, string> }> {
  const contestants: Contestant[] = []
  const missing: Record<string, string> = {}
  for (const peer of peers) {
    const found = await peer.find()
    if (found.kind === 'found') {
      contestants.push({ name: peer.name, peer, found })
    } else {
      missing[peer.name] = found.reason
      progress.say(`${peer.name}: not installed (${found.reason})`)
    }
  }
  if (contestants.length === 0)
    throw new Error('none of the proxies is installed: bench/peers/install')
  return { contestants, missing }
}

function planOf(request: SessionRequest, contestants: number): Plan {
  const { suite, options, peers, budgetSeconds } = request
  const all = suite.scenarios(options)
  const size = sizeOf(request, contestants)
  const { scenarios, rounds, notes } =
    options.duration === undefined && options.rounds === undefined
      ? fitted(all, suite, size, budgetSeconds - paritySeconds(size, suite))
      : { scenarios: all, rounds: size.rounds, notes: [] }
  return {
    schema: SCHEMA,
    runId: request.out.split('/').filter(Boolean).at(-1) ?? 'run',
    suite: suite.name,
    workloadHash: workloadHash(suite, scenarios, options.rate),
    proxies: peers.map(({ name }) => name),
    reference: request.reference,
    subject: request.subject,
    scenarios,
    rounds,
    order: orderOf(request, scenarios, rounds),
    pace: request.pace,
    seed: request.seed,
    isStock: request.isStock,
    maxErrorRate: request.maxErrorRate,
    ...(request.sloP99Us === undefined ? {} : { sloP99Us: request.sloP99Us }),
    budgetSeconds,
    notes,
    command: request.command,
  }
}

function sizeOf({ suite, options }: SessionRequest, contestants: number): SessionSize {
  const rounds = options.rounds ?? suite.rounds
  // Of two builds each is measured twice in a round.
  return { proxies: suite.name === 'ab' ? 3 : contestants, rounds, hasAgain: true }
}

/** What is about to be done, and when it is expected to end: disturbed runs are repeated only in time left over. */
function announcement(
  { scenarios, rounds }: Plan,
  request: SessionRequest,
  contestants: number,
): string {
  const { suite, budgetSeconds } = request
  const size = { ...sizeOf(request, contestants), rounds }
  const seconds = paritySeconds(size, suite) + secondsOf(scenarios, suite, size)
  const list = scenarios.map(({ key, seconds: each }) => `${key} ${each} s`).join(', ')
  const minutes = (value: number) => `${(value / 60).toFixed(1)} min`
  return (
    `${contestants} proxies, ${rounds} round${rounds === 1 ? '' : 's'} of ${list}: ` +
    `about ${minutes(seconds)}, at most ${minutes(budgetSeconds)}`
  )
}

/** Who is measured when: by scenario, then by round. */
function orderOf(
  { peers, reference, suite }: SessionRequest,
  scenarios: readonly ScenarioPlan[],
  rounds: number,
): Plan['order'] {
  const names = peers.map(({ name }) => name)
  const [left = '', right = ''] = names
  const turns = (round: number) =>
    suite.name === 'ab' ? pairedTurns([left, right], round) : turnsOf(names, reference, round)
  const list = Array.from({ length: rounds }, (_, round) => turns(round).map(({ proxy }) => proxy))
  return Object.fromEntries(scenarios.map(({ key }) => [key, list]))
}
