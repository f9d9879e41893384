/** The programs that a run needs: found, installed where that is possible, and asked for their versions. */
import { release } from 'node:os'
import { installDebianPackages } from './peers/debian.ts'
import { allowedCpus, cpuModel } from './processor.ts'
import { outputOf } from './programs.ts'

interface Requirement {
  readonly command: string
  readonly versionFlags: readonly string[]
  readonly version: RegExp
  readonly package: string
}

const REQUIREMENTS: readonly Requirement[] = [
  {
    command: 'nginx',
    versionFlags: ['-v'],
    version: /nginx\/(\S+)/,
    package: 'nginx-light',
  },
  {
    command: 'haproxy',
    versionFlags: ['-v'],
    version: /version (\S+)/,
    package: 'haproxy',
  },
  {
    command: 'wrk',
    versionFlags: ['-v'],
    version: /^wrk (\S+)/,
    package: 'wrk',
  },
  {
    command: 'openssl',
    versionFlags: ['version'],
    version: /^OpenSSL (\S+)/,
    package: 'openssl',
  },
  {
    command: 'taskset',
    versionFlags: ['--version'],
    version: /(\S+)$/m,
    package: 'util-linux',
  },
]

export interface Machine {
  readonly cpu: string
  readonly kernel: string
  /** The proxies' own. */
  readonly proxyCpu: string
  /** Of the origin, the load and the control plane. */
  readonly otherCpus: string
  readonly versions: Readonly<Record<string, string>>
}

export async function inspectMachine(say: (text: string) => void): Promise<Machine> {
  // Where Debian puts servers, and what the path of an ordinary user leaves out.
  process.env.PATH = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`
  let versions = await findVersions()
  const missing = missingPackages(versions)
  if (missing.length > 0) {
    await installDebianPackages(missing, say)
    versions = await findVersions()
    const left = missingPackages(versions)
    if (left.length > 0) throw new Error(`still missing after apt-get: ${left.join(' ')}`)
  }
  const [proxyCpu, ...others] = allowedCpus()
  if (proxyCpu === undefined || others.length === 0) throw new Error('two CPUs are needed')
  return {
    cpu: cpuModel(),
    kernel: release(),
    proxyCpu: String(proxyCpu),
    otherCpus: others.join(','),
    versions: { node: process.version, ...versions },
  }
}

async function findVersions(): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const { command, versionFlags, version } of REQUIREMENTS) {
    const output = await outputOf(command, versionFlags)
    if (output !== undefined) found[command] = version.exec(output)?.[1] ?? 'unknown'
  }
  return found
}

function missingPackages(versions: Readonly<Record<string, string>>): string[] {
  return REQUIREMENTS.filter(({ command }) => versions[command] === undefined).map(
    (requirement) => requirement.package,
  )
}
