/**
 * A node with 10,000 hosts, a router for each, beside a node with one: asked for one of them, which is the
 * figure to judge, and asked for all in turn, where every router also has counters to report each second.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { applyLoad } from './load/wrk.ts'
import { cpuSeconds } from './processor.ts'
import { range } from './report.ts'
import { CONNECTIONS, HOST } from './scenarios.ts'
import type { Settings } from './settings.ts'
import { type Spread, spreadOf } from './statistics.ts'
import { type StartedPrograms, type Subject, type Surroundings, startSubject } from './subject.ts'

const MANY = 10_000
/** All of the many, for the certificate: a node refuses the handshake for a name that it has none for. */
export const MANY_HOSTS = '*.example.test'
const THROUGHPUT_MIN = 0.97
const WARM_UP_SECONDS = 2

export interface HostsFigures {
  readonly oneAsked: Shares
  readonly allAsked: Shares
}

/** Of what the node with one host does. */
interface Shares {
  readonly throughput: Spread
  readonly cpu: Spread
}

interface Side {
  readonly subject: Subject
  readonly script: string
}

interface Sample {
  readonly perSecond: number
  readonly cpu: number
}

export async function measureHosts(
  programs: StartedPrograms,
  around: Surroundings,
  { rounds, seconds }: Settings,
): Promise<HostsFigures> {
  const many = Array.from({ length: MANY }, (_, index) => MANY_HOSTS.replace('*', `host-${index}`))
  const few = await startSubject(programs, around, 'sluice', { folder: 'hosts-one' })
  const lots = await startSubject(programs, around, 'sluice', { folder: 'hosts-many', hosts: many })
  const sides: Side[] = [
    { subject: few, script: await writeScript(around, 'one', [HOST]) },
    { subject: lots, script: await writeScript(around, 'one-of-many', many.slice(-1)) },
    { subject: lots, script: await writeScript(around, 'all', many) },
  ]
  const cpus = around.machine.otherCpus
  for (const side of sides) await measure(side, cpus, Math.min(seconds, WARM_UP_SECONDS))
  const samples: Sample[][] = sides.map(() => [])
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? [0, 1, 2] : [2, 1, 0]
    for (const index of order) {
      const side = sides[index]
      if (side !== undefined) samples[index]?.push(await measure(side, cpus, seconds))
    }
  }
  const [base = [], oneAsked = [], allAsked = []] = samples
  return { oneAsked: sharesOf(oneAsked, base), allAsked: sharesOf(allAsked, base) }
}

function sharesOf(samples: readonly Sample[], base: readonly Sample[]): Shares {
  const shares = (figure: (sample: Sample) => number) =>
    spreadOf(
      base.flatMap((one, round) => {
        const other = samples[round]
        return other === undefined ? [] : [figure(other) / figure(one)]
      }),
    )
  return { throughput: shares(({ perSecond }) => perSecond), cpu: shares(({ cpu }) => cpu) }
}

async function writeScript(
  { directory }: Surroundings,
  name: string,
  hosts: readonly string[],
): Promise<string> {
  const file = join(directory, `hosts-${name}.lua`)
  await writeFile(file, requestScript(hosts))
  return file
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

async function measure({ subject, script }: Side, cpus: string, seconds: number): Promise<Sample> {
  const url = `http://${HOST}:${subject.ports.http}/1k`
  const before = cpuSeconds(subject.worker)
  const report = await applyLoad({ cpus, connections: CONNECTIONS, url, script }, seconds)
  const cpu = (cpuSeconds(subject.worker) - before) / report.requests
  return { perSecond: report.requests / report.seconds, cpu }
}

export function isHostsMet({ oneAsked }: HostsFigures): boolean {
  return oneAsked.throughput.median >= THROUGHPUT_MIN
}

export function renderHosts(figures: HostsFigures): string {
  const { oneAsked, allAsked } = figures
  const verdict = isHostsMet(figures) ? 'met' : 'NOT met'
  return [
    `${MANY} hosts configured, one = 1`,
    `one asked: throughput ${range(oneAsked.throughput)}, at least ${THROUGHPUT_MIN}: ${verdict}; CPU per request ${range(oneAsked.cpu)}`,
    `all asked: throughput ${range(allAsked.throughput)}; CPU per request ${range(allAsked.cpu)}`,
    '',
    '',
  ].join('\n')
}
