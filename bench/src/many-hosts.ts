/** Throughput with 10,000 hosts, a router for each and requests to all of them in turn, beside that with one. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { applyLoad } from './load/wrk.ts'
import { cpuSeconds } from './processor.ts'
import type { Programs } from './programs.ts'
import { range } from './report.ts'
import { CONNECTIONS, HOST } from './scenarios.ts'
import type { Settings } from './settings.ts'
import { type Spread, spreadOf } from './statistics.ts'
import { startSluice } from './subjects/sluice.ts'
import type { Subject, Surroundings } from './subjects/subject.ts'

const MANY = 10_000
const THROUGHPUT_MIN = 0.97
const WARM_UP_SECONDS = 2

export interface HostsFigures {
  readonly throughputRatio: Spread
  readonly cpuRatio: Spread
}

interface Side {
  readonly subject: Subject
  readonly script: string
}

export async function measureHosts(
  programs: Programs,
  around: Surroundings,
  { rounds, seconds }: Settings,
): Promise<HostsFigures> {
  const many = Array.from({ length: MANY }, (_, index) => `host-${index}.example.test`)
  const one = await startSide(programs, around, [HOST])
  const all = await startSide(programs, around, many)
  const cpus = around.machine.otherCpus
  for (const side of [one, all]) await measure(side, cpus, Math.min(seconds, WARM_UP_SECONDS))
  const throughput: number[] = []
  const cpu: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const isOneFirst = round % 2 === 0
    const first = await measure(isOneFirst ? one : all, cpus, seconds)
    const second = await measure(isOneFirst ? all : one, cpus, seconds)
    const [few, lots] = isOneFirst ? [first, second] : [second, first]
    throughput.push(lots.perSecond / few.perSecond)
    cpu.push(lots.cpu / few.cpu)
  }
  return { throughputRatio: spreadOf(throughput), cpuRatio: spreadOf(cpu) }
}

async function startSide(
  programs: Programs,
  around: Surroundings,
  hosts: readonly string[],
): Promise<Side> {
  const name = `hosts-${hosts.length}`
  const script = join(around.directory, `${name}.lua`)
  await writeFile(script, requestScript(hosts))
  return { subject: await startSluice(programs, around, { name, hosts }), script }
}

/** The same work for wrk, however many hosts there are: the next of the requests made beforehand. */
function requestScript(hosts: readonly string[]): string {
  return `
local requests = {}
local at = 0
function init(args)
  for _, host in ipairs({ ${hosts.map((host) => `"${host}"`).join(', ')} }) do
    requests[#requests + 1] = wrk.format("GET", "/1k", { Host = host })
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
`
}

async function measure({ subject, script }: Side, cpus: string, seconds: number) {
  const url = `http://${HOST}:${subject.ports.http}/1k`
  const before = cpuSeconds(subject.worker)
  const report = await applyLoad({ cpus, connections: CONNECTIONS, url, script }, seconds)
  const cpu = (cpuSeconds(subject.worker) - before) / report.requests
  return { perSecond: report.requests / report.seconds, cpu }
}

export function isHostsMet({ throughputRatio }: HostsFigures): boolean {
  return throughputRatio.median >= THROUGHPUT_MIN
}

export function renderHosts(figures: HostsFigures): string {
  const { throughputRatio, cpuRatio } = figures
  const verdict = isHostsMet(figures) ? 'met' : 'NOT met'
  return `With ${MANY} hosts beside one: throughput ${range(throughputRatio)}, at least ${THROUGHPUT_MIN}: ${verdict}; CPU per request ${range(cpuRatio)}\n\n`
}
