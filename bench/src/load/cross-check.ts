/**
 * Whether the generator and oha tell the same latencies of the same steady load, the two taking turns against
 * one target: `node bench/src/load/cross-check.ts [ROUNDS [SECONDS [PER-SECOND]]]` does it on a CPU of its own
 * against nginx, whose answers take less than a generator's own wake-ups, and against a server whose answers
 * take milliseconds. What is compared is the release clock, since oha has no other.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startOrigin } from '../origin/origin.ts'
import { allowedCpus } from '../processor.ts'
import { BODY_BYTES, HOST } from '../scenarios.ts'
import { spreadOf } from '../statistics.ts'
import type { LoadPlan } from './load-plan.ts'
import { findOha, type OhaReport, runOha } from './oha.ts'
import { runLoad } from './run-load.ts'

/** Two honest generators differ by this share at most, */
const DIFFERENCE_MAX = 0.15
/** or by so little that two shared CPUs cannot tell: sleeps of half a millisecond overshoot as much. */
const FLOOR_US = 300
const CONNECTIONS = 50
const WARM_UP_SECONDS = 2

export interface CrossCheckSetting {
  readonly port: number
  readonly path: string
  readonly host: string
  readonly bodyBytes: number
  readonly perSecond: number
  readonly seconds: number
  readonly rounds: number
  /** Of the generators, as taskset takes them. */
  readonly processors: string
  readonly say?: (line: string) => void
}

interface Percentiles {
  readonly p50Us: number
  readonly p99Us: number
}

export type CrossCheck =
  | { readonly kind: 'no oha' }
  | {
      readonly kind: 'compared'
      readonly version: string
      /** Medians over the rounds. */
      readonly ours: Percentiles
      readonly theirs: Percentiles
      /** Ours ÷ oha's − 1. */
      readonly difference: { readonly p50: number; readonly p99: number }
      readonly verdict: 'within' | 'below the floor' | 'apart'
    }

export async function crossCheck(setting: CrossCheckSetting): Promise<CrossCheck> {
  const oha = await findOha()
  if (oha === undefined) return { kind: 'no oha' }
  const ours: Percentiles[] = []
  const theirs: Percentiles[] = []
  for (let round = 0; round < setting.rounds; round += 1) {
    // The order changes from round to round: what drifts with time favours neither.
    const isOursFirst = round % 2 === 0
    if (isOursFirst) ours.push(await runOurs(setting))
    theirs.push(await runTheirs(oha.command, setting))
    if (!isOursFirst) ours.push(await runOurs(setting))
    const [mine, other] = [ours.at(-1), theirs.at(-1)]
    if (mine === undefined || other === undefined) throw new Error('a round has two runs')
    setting.say?.(`round ${round + 1}: generator ${inWords(mine)}; oha ${inWords(other)}`)
  }
  return compare(oha.version, mediansOf(ours), mediansOf(theirs))
}

function compare(version: string, ours: Percentiles, theirs: Percentiles): CrossCheck {
  const difference = {
    p50: ours.p50Us / theirs.p50Us - 1,
    p99: ours.p99Us / theirs.p99Us - 1,
  }
  const isWithinShare = Object.values(difference).every((one) => Math.abs(one) <= DIFFERENCE_MAX)
  const apartUs = Math.max(Math.abs(ours.p50Us - theirs.p50Us), Math.abs(ours.p99Us - theirs.p99Us))
  const verdict = isWithinShare ? 'within' : apartUs <= FLOOR_US ? 'below the floor' : 'apart'
  return { kind: 'compared', version, ours, theirs, difference, verdict }
}

async function runOurs(setting: CrossCheckSetting): Promise<Percentiles> {
  const { port, path, host, perSecond, seconds, bodyBytes, processors } = setting
  const plan: LoadPlan = {
    targets: [{ address: '127.0.0.1', port }],
    requests: [{ method: 'GET', path, host }],
    connections: CONNECTIONS,
    schedule: { kind: 'constant', perSecond, seconds },
    warmUpSeconds: WARM_UP_SECONDS,
    pace: 'tick',
    assign: 'shared',
    deadlineMs: 0,
    timeoutMs: 5_000,
    isConnectionPerRequest: false,
    expected: { status: 200, bodyBytes },
    sourceAddresses: [],
  }
  const { latency, ok, scheduled } = await runLoad(plan, { processors })
  if (ok !== scheduled) throw new Error(`${scheduled - ok} of ${scheduled} requests failed`)
  return { p50Us: latency.release.p50, p99Us: latency.release.p99 }
}

async function runTheirs(command: string, setting: CrossCheckSetting): Promise<OhaReport> {
  const { port, path, host, perSecond, seconds, processors } = setting
  const url = `http://127.0.0.1:${port}${path}`
  return runOha(command, { url, host, connections: CONNECTIONS, perSecond, seconds, processors })
}

function mediansOf(all: readonly Percentiles[]): Percentiles {
  return {
    p50Us: spreadOf(all.map(({ p50Us }) => p50Us)).median,
    p99Us: spreadOf(all.map(({ p99Us }) => p99Us)).median,
  }
}

function inWords({ p50Us, p99Us }: Percentiles): string {
  return `p50 ${Math.round(p50Us)} µs, p99 ${Math.round(p99Us)} µs`
}

export function sentenceOf(check: CrossCheck): string {
  if (check.kind === 'no oha') {
    return 'oha is not installed: the generator was not compared with it'
  }
  const { version, ours, theirs, difference, verdict } = check
  const percent = (value: number) => `${value < 0 ? '−' : '+'}${Math.abs(value * 100).toFixed(0)} %`
  const bound = `${DIFFERENCE_MAX * 100} %`
  const floor = `no more than the ${FLOOR_US} µs that shared CPUs cannot tell apart`
  const inFull = {
    within: `within ${bound}`,
    'below the floor': `not within ${bound}, and ${floor}`,
    apart: `NOT within ${bound}`,
  }
  return (
    `generator ${inWords(ours)}; ${version} ${inWords(theirs)}: ` +
    `${percent(difference.p50)} and ${percent(difference.p99)}, ${inFull[verdict]}`
  )
}

async function main([rounds = '5', seconds = '10', perSecond = '2000']: readonly string[]) {
  process.env.PATH = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`
  const [first, ...others] = allowedCpus()
  if (first === undefined || others.length === 0) throw new Error('two CPUs are needed')
  const compareOn = async (name: string, port: number): Promise<boolean> => {
    process.stdout.write(`${name}\n`)
    const check = await crossCheck({
      port,
      path: '/1k',
      host: HOST,
      bodyBytes: BODY_BYTES['1k'],
      perSecond: Number(perSecond),
      seconds: Number(seconds),
      rounds: Number(rounds),
      processors: others.join(','),
      say: (line) => process.stdout.write(`  ${line}\n`),
    })
    process.stdout.write(`  ${sentenceOf(check)}\n`)
    return check.kind === 'no oha' || check.verdict !== 'apart'
  }
  const ofOrigin = await withOrigin(String(first), (port) => compareOn('nginx', port))
  const ofSpread = await withSpreadTarget(String(first), (port) =>
    compareOn('answers that take milliseconds', port),
  )
  return ofOrigin && ofSpread ? 0 : 1
}

async function withOrigin<T>(processors: string, work: (port: number) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-cross-check-'))
  const origin = await startOrigin({ folder: directory, processors })
  try {
    return await work(Number(origin.addresses[0]?.split(':').at(-1)))
  } finally {
    await origin.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

async function withSpreadTarget<T>(
  processors: string,
  work: (port: number) => Promise<T>,
): Promise<T> {
  const program = new URL('./spread-target.ts', import.meta.url).pathname
  const child = spawn('taskset', ['-c', processors, process.execPath, program, '1'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    const [said] = await once(child.stdout, 'data')
    return await work(Number(String(said)))
  } finally {
    child.stdin.end()
    await once(child, 'exit')
  }
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))
