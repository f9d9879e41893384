/** What figures depend on and no proxy decides: the content of env.json. No host name, no address, no user. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { release, totalmem } from 'node:os'
import { promisify } from 'node:util'
import { fileOf, versionOutput } from '../peers/find-program.ts'
import { REPOSITORY } from '../peers/places.ts'

const run = promisify(execFile)

const SYSCTLS = [
  'net.core.somaxconn',
  'net.core.netdev_max_backlog',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_max_syn_backlog',
  'net.ipv4.tcp_tw_reuse',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_congestion_control',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
  'kernel.sched_autogroup_enabled',
  'fs.file-max',
] as const

interface Tool {
  readonly name: string
  readonly flags: readonly string[]
  readonly version: RegExp
  /** What is impossible without it. */
  readonly need: string
  /** As Debian has it. */
  readonly package: string
}

export const TOOLS: readonly Tool[] = [
  tool('wrk', ['-v'], /^wrk (?:debian\/)?(\S+)/, 'capacity', 'wrk'),
  tool('nginx', ['-v'], /nginx\/(\S+)/, 'the origin', 'nginx-light'),
  tool('openssl', ['version'], /^OpenSSL (\S+)/, 'the certificate', 'openssl'),
  tool('taskset', ['--version'], /(\S+)$/m, 'pinning', 'util-linux'),
  tool('chrt', ['--version'], /(\S+)$/m, 'builds that leave others their CPU', 'util-linux'),
  tool('ss', ['-V'], /(iproute2-[^,\s]+)/, 'backlogs', 'iproute2'),
]

export interface FoundTool {
  readonly name: string
  /** Undefined: it is not there. */
  readonly version: string | undefined
  readonly need: string
  readonly package: string
}

export interface Environment {
  readonly cpuModel: string
  /** Those that this process may use. */
  readonly processors: readonly number[]
  readonly virtualization: string
  readonly mitigations: Readonly<Record<string, string>>
  readonly memoryBytes: number
  readonly kernel: string
  readonly node: string
  readonly openFilesMax: { readonly soft: number; readonly hard: number }
  readonly sysctls: Readonly<Record<string, string>>
  readonly tools: readonly FoundTool[]
  readonly commit: string
  readonly isDirty: boolean
}

export async function describeEnvironment(processors: readonly number[]): Promise<Environment> {
  const cpuinfo = readFileSync('/proc/cpuinfo', 'utf8')
  return {
    cpuModel: /^model name\s*:\s*(.+)$/m.exec(cpuinfo)?.[1] ?? 'unknown',
    processors,
    virtualization: /^flags\s*:.*\bhypervisor\b/m.test(cpuinfo) ? 'virtual machine' : 'none seen',
    mitigations: mitigations(cpuinfo),
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.version,
    openFilesMax: openFilesMax(),
    sysctls: sysctls(),
    tools: await findTools(),
    ...(await describeCommit()),
  }
}

export async function findTools(): Promise<FoundTool[]> {
  return Promise.all(
    TOOLS.map(async ({ name, flags, version, need, package: packageName }) => {
      const file = await fileOf(name)
      const said = file === undefined ? '' : await versionOutput(file, flags)
      const known = file === undefined ? undefined : (version.exec(said)?.[1] ?? 'unknown')
      return { name, version: known, need, package: packageName }
    }),
  )
}

export function openFilesMax(): Environment['openFilesMax'] {
  const limits = readFileSync('/proc/self/limits', 'utf8')
  const [, soft = '', hard = ''] = /^Max open files\s+(\S+)\s+(\S+)/m.exec(limits) ?? []
  const count = (text: string) => (text === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(text))
  return { soft: count(soft), hard: count(hard) }
}

/** First and last of the ports that connections get. */
export function portRange(): readonly [number, number] {
  const text = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
  const [first = 0, last = 0] = text.trim().split(/\s+/).map(Number)
  return [first, last]
}

function tool(
  name: string,
  flags: readonly string[],
  version: RegExp,
  need: string,
  packageName: string,
): Tool {
  return { name, flags, version, need, package: packageName }
}

/** The kernel's list of the processor's faults; what it does against each is in a file that not all may read. */
function mitigations(cpuinfo: string): Record<string, string> {
  const faults = /^bugs\s*:\s*(.+)$/m.exec(cpuinfo)?.[1]?.split(' ').filter(Boolean) ?? []
  const entries = faults.map((fault) => {
    const file = `/sys/devices/system/cpu/vulnerabilities/${fault}`
    return [fault, readIfThere(file) ?? 'not told'] as const
  })
  return Object.fromEntries(entries)
}

function sysctls(): Record<string, string> {
  const entries = SYSCTLS.map((name) => {
    const text = readIfThere(`/proc/sys/${name.replaceAll('.', '/')}`)
    return [name, text?.replaceAll(/\s+/g, ' ') ?? 'not here'] as const
  })
  return Object.fromEntries(entries)
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EACCES') return undefined
    throw error
  }
}

async function describeCommit(): Promise<{ commit: string; isDirty: boolean }> {
  const git = async (...args: string[]) => (await run('git', args, { cwd: REPOSITORY })).stdout
  try {
    const commit = (await git('rev-parse', 'HEAD')).trim()
    return { commit, isDirty: (await git('status', '--porcelain')).trim() !== '' }
  } catch {
    // An archive of the sources, or no git.
    return { commit: 'unknown', isDirty: false }
  }
}
