/** `doctor`: whether this machine can measure, and how well. Each problem is one line that says what to do. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findPeers, type PeerOnMachine } from '../peers/all-peers.ts'
import { fileOf } from '../peers/find-program.ts'
import { allowedCpus } from '../processor.ts'
import { describeEnvironment, type Environment, openFilesMax, portRange } from './environment.ts'
import { type Calibration, calibrateBest, type HiccupFigures, measureHiccups } from './noise.ts'
import { processorsIn } from './process-tree.ts'
import { readSystemCounters, systemChange, timeWaitSockets } from './system-counters.ts'

const run = promisify(execFile)

const EXAMINATION = Object.freeze({
  processorsMin: 2,
  /** For 1,000 connections at 3 descriptors each, and what a program has open besides. */
  openFilesMin: 4_024,
  portsMin: 20_000,
  timeWaitMax: 5_000,
  hiccupMs: 1_000,
  /** Of the time in which the clock stood still for this process. */
  hiccupShareMax: 0.05,
  stealShareMax: 0.01,
  foreignShareMax: 0.03,
  calibrations: 5,
})

export interface MachineExamination {
  readonly environment: Environment
  readonly peers: readonly PeerOnMachine[]
  /** As taskset takes them; undefined: there are too few. */
  readonly layout: { readonly proxy: string; readonly load: string } | undefined
  readonly noise: {
    readonly hiccups: HiccupFigures
    readonly calibration: Calibration
    readonly stealShare: number
    /** Of all CPUs, while this process looked at its own clock on one of them. */
    readonly foreignShare: number
  }
  readonly timeWait: number
  readonly problems: readonly MachineProblem[]
}

export interface MachineProblem {
  /** Nothing can be measured, or figures are to be doubted. */
  readonly isFatal: boolean
  readonly text: string
}

export async function examineMachine(): Promise<MachineExamination> {
  const processors = allowedCpus()
  const environment = await describeEnvironment(processors)
  const peers = await findPeers()
  const noise = examineNoise(processors)
  const timeWait = timeWaitSockets()
  const problems = [
    ...toolProblems(environment),
    ...(await processorProblems(processors)),
    ...limitProblems(timeWait),
    ...noiseProblems(noise),
    ...peerProblems(peers),
  ]
  return { environment, peers, layout: layoutOf(processors), noise, timeWait, problems }
}

function layoutOf(processors: readonly number[]): MachineExamination['layout'] {
  const [proxy, ...load] = processors
  return proxy === undefined || load.length === 0
    ? undefined
    : { proxy: String(proxy), load: load.join(',') }
}

function toolProblems({ tools }: Environment): MachineProblem[] {
  return tools
    .filter(({ version }) => version === undefined)
    .map(({ name, need, package: packageName }) =>
      fatal(`${name} is missing, for ${need}: apt-get install ${packageName}`),
    )
}

async function processorProblems(processors: readonly number[]): Promise<MachineProblem[]> {
  const { processorsMin } = EXAMINATION
  if (processors.length < processorsMin) {
    return [
      fatal(
        `this process may use ${processors.length} CPU, and ${processorsMin} are needed: one for the proxy, others for origin and load`,
      ),
    ]
  }
  const unpinned = (await Promise.all(processors.map(pinningProblem))).filter(
    (text) => text !== undefined,
  )
  return unpinned.map(fatal)
}

/** Starts a program on the CPU and lets it tell where it may run. */
async function pinningProblem(cpu: number): Promise<string | undefined> {
  if ((await fileOf('taskset')) === undefined) return undefined
  try {
    const asked = ['-c', String(cpu), 'cat', '/proc/self/status']
    const { stdout } = await run('taskset', asked)
    const allowed = /^Cpus_allowed_list:\s*(.+)$/m.exec(stdout)?.[1] ?? ''
    const isPinned = processorsIn(allowed).join(',') === String(cpu)
    return isPinned ? undefined : `a program that was put on CPU ${cpu} may use ${allowed}`
  } catch (error) {
    return `no program can be put on CPU ${cpu}: ${(error as Error).message.trim()}`
  }
}

function limitProblems(timeWait: number): MachineProblem[] {
  const { openFilesMin, portsMin, timeWaitMax } = EXAMINATION
  const { soft, hard } = openFilesMax()
  const [first, last] = portRange()
  const ports = last - first + 1
  return [
    ...(soft < openFilesMin
      ? [
          fatal(
            `a process may have ${soft} files open, fewer than ${openFilesMin}: ulimit -n ${hard}`,
          ),
        ]
      : []),
    ...(ports < portsMin
      ? [
          doubt(
            `connections have ${ports} ports, fewer than ${portsMin}: net.ipv4.ip_local_port_range`,
          ),
        ]
      : []),
    ...(timeWait > timeWaitMax
      ? [doubt(`${timeWait} sockets are in TIME_WAIT; each keeps its port for a minute`)]
      : []),
  ]
}

function examineNoise(processors: readonly number[]): MachineExamination['noise'] {
  const all = processors.join(',')
  const before = readSystemCounters()
  const own = process.cpuUsage()
  const hiccups = measureHiccups(EXAMINATION.hiccupMs)
  const { user, system } = process.cpuUsage(own)
  const change = systemChange(before, readSystemCounters(), {
    processors: all,
    ownNs: (user + system) * 1_000,
  })
  const calibration = calibrateBest(EXAMINATION.calibrations)
  const { stealShare, foreignShare } = change
  return { hiccups, calibration, stealShare, foreignShare }
}

function noiseProblems({
  hiccups,
  stealShare,
  foreignShare,
}: MachineExamination['noise']): MachineProblem[] {
  const { hiccupShareMax, stealShareMax, foreignShareMax } = EXAMINATION
  return [
    ...(hiccups.share > hiccupShareMax
      ? [doubt(`a process that never sleeps was not run for ${percent(hiccups.share)} of the time`)]
      : []),
    ...(stealShare > stealShareMax
      ? [doubt(`the hypervisor took ${percent(stealShare)} of the CPUs`)]
      : []),
    ...(foreignShare > foreignShareMax
      ? [doubt(`other programs use ${percent(foreignShare)} of the CPUs`)]
      : []),
  ]
}

function peerProblems(peers: readonly PeerOnMachine[]): MachineProblem[] {
  return peers.flatMap(({ peer, found }) =>
    found.kind === 'found' ? [] : [doubt(`${peer.name} is not installed: ${found.reason}`)],
  )
}

function fatal(text: string): MachineProblem {
  return { isFatal: true, text }
}

function doubt(text: string): MachineProblem {
  return { isFatal: false, text }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
