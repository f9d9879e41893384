/**
 * `npm run bench:engine`: what a request costs our worker beside nginx and HAProxy, on the same CPU, with the
 * same origin and load, the rounds taking turns. Needs the built programs; installs the others where it can.
 * Exit code 0: everything that was measured is within its bound, 1: something is not, 2: cannot run.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificate } from './certificate.ts'
import { runMain } from './command-line/run-main.ts'
import { isHostsMet, MANY_HOSTS, measureHosts, renderHosts } from './many-hosts.ts'
import { load, type Measurement, measure } from './measurement.ts'
import { isMemoryMet, measureMemory, renderMemory } from './memory.ts'
import { type Origin, startOrigin } from './origin/origin.ts'
import { concludeFrom, type Outcome, type Round } from './outcome.ts'
import { outputOf } from './programs.ts'
import { describeMachine, describeTls, recordOf, render, whole } from './report.ts'
import { inspectMachine } from './requirements.ts'
import { HOST, type Scenario } from './scenarios.ts'
import { HELP, readSettings, type Settings } from './settings.ts'
import {
  StartedPrograms,
  type Subject,
  type SubjectName,
  type Surroundings,
  startSubject,
} from './subject.ts'
import { probeTls, type TlsFacts } from './tls-probe.ts'

const WARM_UP_SECONDS_MAX = 2

async function main(): Promise<number> {
  const settings = readSettings(process.argv.slice(2))
  if (settings === undefined) {
    say(HELP)
    return 0
  }
  const machine = await inspectMachine(say)
  // The harness must not run where the proxies are measured. What it starts is pinned by itself.
  await outputOf('taskset', ['-acp', machine.otherCpus, String(process.pid)])
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const programs = new StartedPrograms()
  let cleaned: Promise<void> | undefined
  const clean = () => {
    cleaned ??= programs.endAll().then(() => rm(directory, { recursive: true, force: true }))
    return cleaned
  }
  // Both come more than once, from a terminal and from npm, and only the first must count.
  const endEarly = () => void clean().then(() => process.exit(2))
  process.on('SIGINT', endEarly).on('SIGTERM', endEarly)
  try {
    const certificate = await makeCertificate(directory, [HOST, MANY_HOSTS])
    const folder = join(directory, 'origin')
    const origin = programs.add(await startOrigin({ folder, processors: machine.otherCpus }))
    const around = { directory, machine, certificate, origin }
    return await run(programs, around, settings)
  } finally {
    await clean()
  }
}

async function run(
  programs: StartedPrograms,
  around: Surroundings,
  settings: Settings,
): Promise<number> {
  const { outcomes, tls } = await compare(programs, around, settings)
  if (outcomes.length > 0) say(render(outcomes))
  const hosts = settings.hosts ? await measureHosts(programs, around, settings) : undefined
  if (hosts !== undefined) say(renderHosts(hosts))
  const memory = settings.memory
    ? await measureMemory(programs, around, settings.seconds)
    : undefined
  if (memory !== undefined) say(renderMemory(memory))
  for (const [name, facts] of Object.entries(tls)) say(describeTls(name, facts))
  say(describeMachine(around.machine, settings))
  if (settings.json !== undefined) {
    const { rounds, seconds } = settings
    const machine = { ...around.machine, tls, rounds, seconds }
    // What was not measured is undefined and left out.
    const record = { ...recordOf(outcomes), memory, hosts, machine }
    await writeFile(settings.json, `${JSON.stringify(record, null, 2)}\n`)
  }
  const isMet =
    outcomes.every((outcome) => outcome.isMet) &&
    (memory === undefined || isMemoryMet(memory)) &&
    (hosts === undefined || isHostsMet(hosts))
  return isMet ? 0 : 1
}

async function compare(
  programs: StartedPrograms,
  around: Surroundings,
  settings: Settings,
): Promise<{ outcomes: Outcome[]; tls: Record<string, TlsFacts> }> {
  const outcomes: Outcome[] = []
  const tls: Record<string, TlsFacts> = {}
  if (settings.scenarios.length === 0) return { outcomes, tls }
  const subjects = [
    await startSubject(programs, around, 'sluice'),
    await startSubject(programs, around, 'nginx'),
    await startSubject(programs, around, 'haproxy'),
  ]
  for (const { name, ports } of subjects) tls[name] = await probeTls(ports.https)
  for (const scenario of settings.scenarios) {
    outcomes.push(await measureScenario(scenario, subjects, around, settings))
  }
  return { outcomes, tls }
}

async function measureScenario(
  scenario: Scenario,
  subjects: readonly Subject[],
  { machine, origin }: Surroundings,
  { rounds, seconds }: Settings,
): Promise<Outcome> {
  const cpus = machine.otherCpus
  const warmUp = { cpus, seconds: Math.min(seconds, WARM_UP_SECONDS_MAX) }
  say(`${scenario.title}\n`)
  const plain: Scenario = { ...scenario, protocol: 'http' }
  const direct = await load(portOf(origin), plain, warmUp)
  for (const { ports } of subjects) await load(ports[scenario.protocol], scenario, warmUp)
  const measured: Round[] = []
  for (let round = 0; round < rounds; round += 1) {
    const one: Partial<Record<SubjectName, Measurement>> = {}
    // Who goes first changes, so that what drifts on the machine hits all alike.
    for (const subject of rotated(subjects, round)) {
      one[subject.name] = await measure(subject, scenario, { cpus, seconds })
    }
    say(`  round ${round + 1}: ${Object.values(one).map(inWords).join('; ')}\n`)
    measured.push(one as Round)
  }
  return concludeFrom(scenario, measured, direct.requests / direct.seconds)
}

function portOf({ addresses: [address = ''] }: Origin): number {
  return Number(address.split(':')[1])
}

/** Every order comes: the start moves on, and the direction changes. */
function rotated(subjects: readonly Subject[], round: number): Subject[] {
  const start = round % subjects.length
  const order = [...subjects.slice(start), ...subjects.slice(0, start)]
  return round % 2 === 0 ? order : order.reverse()
}

function inWords({ subject, workerUs, requestsPerSecond, steady }: Measurement): string {
  const latency = steady === undefined ? '' : `, p99 ${Math.round(steady.latencyUs.p99)} µs`
  return `${subject} ${workerUs.toFixed(1)} µs (${whole(requestsPerSecond)}/s${latency})`
}

function say(text: string): void {
  process.stdout.write(text)
}

await runMain(main)
