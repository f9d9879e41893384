/** HAProxy of Debian, one process of one thread. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configuredPeer } from './configured-peer.ts'
import { findProgram } from './find-program.ts'
import type { Peer, PeerSetting } from './peer.ts'

export const haproxy: Peer = configuredPeer({
  name: 'haproxy',
  title: 'HAProxy',
  templates: ['haproxy/haproxy.cfg.template'],
  find: () =>
    findProgram({
      candidates: ['haproxy'],
      versionFlags: ['-v'],
      versionPattern: /version (\S+)/,
      origin: () => "Debian's package",
      hint: 'bench/peers/install --only haproxy (the package haproxy)',
    }),
  command: (_binary, folder) => ({ args: ['-db', '-f', `${folder}/haproxy.cfg`] }),
  values: ({ folder }) => ({ both: join(folder, 'both.pem') }),
  prepare: writeBoth,
  logsToOutput: true,
})

/** HAProxy wants chain and key in one file. */
async function writeBoth({ folder, certificateFile, keyFile }: PeerSetting): Promise<void> {
  const both = (await readFile(certificateFile, 'utf8')) + (await readFile(keyFile, 'utf8'))
  await writeFile(join(folder, 'both.pem'), both, { mode: 0o600 })
}
