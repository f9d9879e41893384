/** env.json: this machine as the kernel and its programs tell it. No address, no name of the machine. */
import { readdirSync, readFileSync } from 'node:fs'
import { release } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Environment, SCHEMA } from '../artifacts/records.ts'
import { calibrateBest } from '../machine/noise.ts'
import { processorsIn } from '../machine/process-tree.ts'
import { allowedCpus, cpuModel } from '../processor.ts'
import { outputOf } from '../programs.ts'
import type { Processors } from './run-watch.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const CALIBRATIONS = 5
const SYSCTLS = [
  'net/core/somaxconn',
  'net/ipv4/ip_local_port_range',
  'net/ipv4/tcp_tw_reuse',
  'net/ipv4/tcp_max_syn_backlog',
  'net/ipv4/tcp_congestion_control',
]
const TOOLS: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['wrk', ['-v'], /^wrk (?:debian\/)?(\S+)/],
  ['openssl', ['version'], /^OpenSSL (\S+)/],
  ['nginx', ['-v'], /nginx\/(\S+)/],
  ['taskset', ['--version'], /(\S+)\s*$/],
]

export async function readEnvironment(
  { proxy, load }: Processors,
  missing: Readonly<Record<string, string>>,
): Promise<Environment> {
  const tools: Record<string, string> = { node: process.version }
  for (const [name, flags, version] of TOOLS) {
    const output = await outputOf(name, flags)
    if (output !== undefined) tools[name] = version.exec(output)?.[1] ?? 'unknown'
  }
  const commit = await outputOf('git', ['-C', ROOT, 'rev-parse', '--short', 'HEAD'])
  const changes = await outputOf('git', [
    '-C',
    ROOT,
    'status',
    '--porcelain',
    '--untracked-files=no',
  ])
  const together = [...new Set([...processorsIn(proxy), ...processorsIn(load)])].length
  return {
    schema: SCHEMA,
    layout: `${together}-cpu, loopback (proxy on CPU ${proxy}; origin and generator share CPU ${load})`,
    isLocal: true,
    cpuModel: cpuModel(),
    cpus: allowedCpus().length,
    proxyCpus: proxy,
    loadCpus: load,
    kernel: release(),
    mitigations: mitigations(),
    limits: limits(),
    sysctls: Object.fromEntries(
      SYSCTLS.map((name) => [name.replaceAll('/', '.'), lineOf(`/proc/sys/${name}`)]),
    ),
    tools,
    commit: commit?.trim() ?? 'unknown',
    isDirty: (changes ?? '').trim() !== '',
    calibrationMs: calibrateBest(CALIBRATIONS).ms,
    missing,
    startedAtMs: Date.now(),
  }
}

function mitigations(): Record<string, string> {
  const folder = '/sys/devices/system/cpu/vulnerabilities'
  try {
    return Object.fromEntries(
      readdirSync(folder).map((name) => [name, lineOf(`${folder}/${name}`)]),
    )
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

function limits(): Record<string, number> {
  const text = readFileSync('/proc/self/limits', 'utf8')
  const files = /^Max open files\s+(\S+)\s+(\S+)/m.exec(text)
  return { openFiles: Number(files?.[1] ?? 0), openFilesHard: Number(files?.[2] ?? 0) }
}

function lineOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim().replaceAll('\t', ' ')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EACCES') return 'not told'
    throw error
  }
}
