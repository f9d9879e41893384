/** Aralez, built here from its crate; one thread. */
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { configuredPeer } from './configured-peer.ts'
import { findProgram } from './find-program.ts'
import type { Peer, PeerSetting } from './peer.ts'
import { cachedProgram } from './places.ts'

export const aralez: Peer = configuredPeer({
  name: 'aralez',
  title: 'Aralez',
  templates: ['aralez/main.yaml.template', 'aralez/upstreams.yaml.template'],
  find: () =>
    findProgram({
      candidates: [cachedProgram('aralez', 'bin', 'aralez')],
      versionFlags: ['--version'],
      versionPattern: /(\d+\.\d+\.\d+)/,
      origin: (version) => `the crate aralez ${version}, built here, release`,
      hint: 'bench/peers/install --only aralez',
    }),
  command: (_binary, folder) => ({ args: ['-c', `${folder}/main.yaml`] }),
  prepare: copyCertificate,
  logsToOutput: true,
})

/** It takes every pair of NAME.crt and NAME.key from one folder. */
async function copyCertificate(setting: PeerSetting): Promise<void> {
  const folder = join(setting.folder, 'certificates')
  await mkdir(folder, { recursive: true })
  await copyFile(setting.certificateFile, join(folder, 'bench.crt'))
  await copyFile(setting.keyFile, join(folder, 'bench.key'))
}
