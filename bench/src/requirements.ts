/** The programs that a run needs: found, installed where that is possible, and asked for their versions. */
import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { release } from 'node:os'
import { promisify } from 'node:util'
import { allowedCpus, cpuModel } from './processor.ts'
import { outputOf } from './programs.ts'

const run = promisify(execFile)

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
    await installPackages(missing, say)
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

async function installPackages(
  packages: readonly string[],
  say: (text: string) => void,
): Promise<void> {
  const install = ['install', '-y', '--no-install-recommends', ...packages]
  const isPossible =
    process.getuid?.() === 0 && (await outputOf('apt-get', ['--version'])) !== undefined
  if (!isPossible) throw new Error(`missing programs; as root: apt-get ${install.join(' ')}`)
  say(`Installing ${packages.join(', ')} with apt-get\n`)
  await withoutServices(async () => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    await run('apt-get', ['update'], { env })
    await run('apt-get', install, { env })
  })
}

/** Debian starts what it installs unless this file says no; then nginx would take port 80. */
async function withoutServices(work: () => Promise<void>): Promise<void> {
  const file = '/usr/sbin/policy-rc.d'
  const isOurs = await writeFile(file, '#!/bin/sh\nexit 101\n', { mode: 0o755, flag: 'wx' }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
      return false
    },
  )
  try {
    await work()
  } finally {
    if (isOurs) await rm(file)
  }
}
