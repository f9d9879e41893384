/**
 * CPU per request of one worker beside nginx as a proxy: 1 KiB answers, keep-alive, the same CPU, the
 * same origin, the same client, rounds taking turns. Run by `npm run bench:nginx`; needs the built
 * programs, and nginx, wrk and taskset. Exit code 0: within the limit, 1: above it, 2: cannot run.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startOrigin, startProxy, workerOf } from './nginx.ts'
import { allowedCpus, cpuModel, cpuSeconds } from './processor.ts'
import { freePort, outputOf, Programs } from './programs.ts'
import {
  CONNECTIONS,
  type Machine,
  type Measurement,
  RATIO_MAX,
  type Result,
  render,
  summarise,
  whole,
} from './report.ts'
import { startSluice } from './sluice.ts'
import { applyLoad, type Load } from './wrk.ts'

const HOST = 'bench.test'
const WARM_UP_SECONDS = 2

const HELP = `Compares CPU per request with nginx.
  --rounds N      rounds, each measures both (default 7)
  --seconds N     seconds per measurement (default 5)
  --json FILE     write every figure to FILE
`

interface Subject {
  readonly name: 'sluice' | 'nginx'
  readonly port: number
  readonly worker: number
  readonly supervisor?: number
}

interface Settings {
  readonly rounds: number
  readonly seconds: number
  readonly json: string | undefined
}

async function main(): Promise<number> {
  const settings = readSettings()
  if (settings === undefined) return 0
  const machine = await inspect()
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const programs = new Programs()
  const endEarly = () => void programs.endAll().then(() => process.exit(2))
  process.once('SIGINT', endEarly).once('SIGTERM', endEarly)
  try {
    const result = await measureAll(programs, directory, machine, settings)
    const report = summarise(result)
    say(render(report, machine, result))
    if (settings.json !== undefined) {
      const record = { ...machine, settings, isSharedMachine: true, ...report, ...result }
      await writeFile(settings.json, `${JSON.stringify(record, null, 2)}\n`)
    }
    return report.workerRatio.median <= RATIO_MAX ? 0 : 1
  } finally {
    await programs.endAll()
    await rm(directory, { recursive: true, force: true })
  }
}

function readSettings(): Settings | undefined {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '7' },
      seconds: { type: 'string', default: '5' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    say(HELP)
    return undefined
  }
  const rounds = Number(values.rounds)
  const seconds = Number(values.seconds)
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be 1 or more')
  if (!Number.isInteger(seconds) || seconds < 1) throw new Error('--seconds must be 1 or more')
  return { rounds, seconds, json: values.json }
}

async function inspect(): Promise<Machine> {
  const [nginx, wrk, taskset] = await Promise.all([
    outputOf('nginx', ['-v']),
    outputOf('wrk', ['-v']),
    outputOf('taskset', ['--version']),
  ])
  if (nginx === undefined || wrk === undefined || taskset === undefined) {
    throw new Error('nginx, wrk and taskset are needed: apt-get install nginx-light wrk util-linux')
  }
  const [proxyCpu, ...others] = allowedCpus()
  if (proxyCpu === undefined || others.length === 0) throw new Error('two CPUs are needed')
  return {
    proxyCpu: String(proxyCpu),
    otherCpus: others.join(','),
    versions: {
      node: process.version,
      nginx: /nginx\/(\S+)/.exec(nginx)?.[1] ?? 'unknown',
      wrk: /^wrk (\S+)/.exec(wrk)?.[1] ?? 'unknown',
      kernel: release(),
      cpu: cpuModel(),
    },
  }
}

async function measureAll(
  programs: Programs,
  directory: string,
  machine: Machine,
  settings: Settings,
): Promise<Result> {
  const { proxyCpu, otherCpus } = machine
  const originPort = await freePort()
  await startOrigin(programs, { directory, cpus: otherCpus, port: originPort })
  const direct = await applyLoad(loadOn(originPort, machine), settings.seconds)
  const nginxPort = await freePort()
  const place = { directory, cpus: proxyCpu, port: nginxPort }
  const nginx = await startProxy(programs, place, originPort)
  const cpus = { nodeCpus: proxyCpu, controlPlaneCpus: otherCpus }
  const sluice = await startSluice(programs, { directory, ...cpus, host: HOST, originPort })
  const subjects: Subject[] = [
    { name: 'sluice', ...sluice },
    { name: 'nginx', port: nginxPort, worker: workerOf(nginx) },
  ]
  for (const subject of subjects) await applyLoad(loadOn(subject.port, machine), WARM_UP_SECONDS)
  const rounds: Measurement[][] = []
  for (let round = 1; round <= settings.rounds; round += 1) {
    // Who goes first changes, so that what drifts on the machine hits both alike.
    subjects.reverse()
    const measured: Measurement[] = []
    for (const subject of subjects) measured.push(await measure(subject, machine, settings.seconds))
    rounds.push(measured)
    say(`round ${round}: ${measured.map(inWords).join('; ')}\n`)
  }
  return { directRequestsPerSecond: direct.requests / direct.seconds, rounds }
}

function loadOn(port: number, machine: Machine): Load {
  const url = `http://127.0.0.1:${port}/1k`
  return { cpus: machine.otherCpus, connections: CONNECTIONS, url, host: HOST }
}

async function measure(subject: Subject, machine: Machine, seconds: number): Promise<Measurement> {
  const { worker, supervisor } = subject
  const before = { worker: cpuSeconds(worker), supervisor: supervisorSeconds(supervisor) }
  const { requests, seconds: took } = await applyLoad(loadOn(subject.port, machine), seconds)
  const workerSeconds = cpuSeconds(worker) - before.worker
  const supervisorUsed = supervisorSeconds(supervisor) - before.supervisor
  return {
    subject: subject.name,
    requestsPerSecond: requests / took,
    workerMicroseconds: (workerSeconds / requests) * 1e6,
    supervisorMicroseconds: (supervisorUsed / requests) * 1e6,
    busy: (workerSeconds + supervisorUsed) / took,
  }
}

function supervisorSeconds(pid: number | undefined): number {
  return pid === undefined ? 0 : cpuSeconds(pid)
}

function inWords(one: Measurement): string {
  return `${one.subject} ${one.workerMicroseconds.toFixed(1)} µs (${whole(one.requestsPerSecond)}/s)`
}

function say(text: string): void {
  process.stdout.write(text)
}

try {
  process.exitCode = await main()
} catch (error) {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : ''
  process.stderr.write(`${error instanceof Error ? error.message : error} ${cause}\n`)
  process.exitCode = 2
}
