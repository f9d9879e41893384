/** Installs Debian's packages, as root alone, without starting what they bring as services. */
import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { outputOf } from '../programs.ts'

const run = promisify(execFile)

export async function installDebianPackages(
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
