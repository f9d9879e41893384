/** What a run needs and this machine lacks: one line for each, before anything is measured. */
import { readFileSync } from 'node:fs'
import type { ScenarioPlan } from '../artifacts/records.ts'
import { processorsIn } from '../machine/process-tree.ts'
import { allowedCpus } from '../processor.ts'
import { outputOf } from '../programs.ts'
import type { Processors } from './run-watch.ts'

/** Each connection of the load takes a file at the load, and two at the proxy. */
const FILES_PER_CONNECTION = 3
const FILES_BESIDE = 1_024
/** New connections leave their ports in TIME_WAIT for a minute. */
const PORTS_MIN = 10_000

const TOOLS: readonly (readonly [string, readonly string[], string])[] = [
  ['taskset', ['--version'], 'util-linux'],
  ['openssl', ['version'], 'openssl'],
  ['nginx', ['-v'], 'nginx-light'],
  ['ss', ['-V'], 'iproute2'],
]

export function defaultProcessors(): Processors | undefined {
  const [proxy, ...others] = allowedCpus()
  if (proxy === undefined || others.length === 0) return undefined
  return { proxy: String(proxy), load: others.join(',') }
}

export async function preflight(
  processors: Processors | undefined,
  scenarios: readonly ScenarioPlan[],
): Promise<string[]> {
  if (process.platform !== 'linux') return ['a benchmark reads /proc: only Linux has it']
  // Where Debian puts servers, and what the path of an ordinary user leaves out.
  process.env.PATH = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`
  const problems: string[] = [...processorProblems(processors)]
  const needed = [
    ...TOOLS,
    ...(scenarios.some(({ tool }) => tool === 'wrk') ? [['wrk', ['-v'], 'wrk'] as const] : []),
  ]
  for (const [name, flags, from] of needed) {
    if ((await outputOf(name, flags)) === undefined) {
      problems.push(
        `${name} is missing: as root, apt-get install -y --no-install-recommends ${from}`,
      )
    }
  }
  const most = Math.max(0, ...scenarios.map(({ connections }) => connections))
  return [...problems, ...fileProblems(most), ...portProblems()]
}

function processorProblems(processors: Processors | undefined): string[] {
  if (processors === undefined)
    return ['two CPUs are needed: one for the proxy, one for origin and load']
  const allowed = new Set(allowedCpus())
  const [proxy, load] = [processorsIn(processors.proxy), processorsIn(processors.load)]
  const unknown = [...proxy, ...load].filter((cpu) => !allowed.has(cpu))
  const shared = proxy.filter((cpu) => load.includes(cpu))
  return [
    ...(unknown.length > 0
      ? [
          `CPU ${unknown.join(', ')} is not among those that may be used: ${[...allowed].join(', ')}`,
        ]
      : []),
    ...(shared.length > 0
      ? [`CPU ${shared.join(', ')} cannot be both the proxy's and the load's`]
      : []),
  ]
}

function fileProblems(connections: number): string[] {
  const text = readFileSync('/proc/self/limits', 'utf8')
  const soft = /^Max open files\s+(\S+)/m.exec(text)?.[1] ?? '0'
  const limit = soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
  const needed = connections * FILES_PER_CONNECTION + FILES_BESIDE
  if (limit >= needed) return []
  return [
    `open files: ${connections} connections need ${needed}, the limit is ${limit}: ulimit -n ${needed}`,
  ]
}

function portProblems(): string[] {
  const range = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/)
  const [first = 0, last = 0] = range.map(Number)
  const ports = last - first + 1
  return ports >= PORTS_MIN
    ? []
    : [`only ${ports} local ports: sysctl -w net.ipv4.ip_local_port_range="32768 60999"`]
}
