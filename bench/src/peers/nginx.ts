/** nginx of Debian, one worker. */
import { configuredPeer } from './configured-peer.ts'
import { findProgram } from './find-program.ts'
import type { Peer } from './peer.ts'

export const nginx: Peer = configuredPeer({
  name: 'nginx',
  title: 'nginx',
  templates: ['nginx/nginx.conf.template'],
  find: () =>
    findProgram({
      candidates: ['nginx'],
      versionFlags: ['-v'],
      versionPattern: /nginx\/(\S+)/,
      origin: () => "Debian's package",
      hint: 'bench/peers/install --only nginx (the package nginx-light)',
    }),
  command: (_binary, folder) => ({ args: ['-c', `${folder}/nginx.conf`, '-p', folder] }),
  values: () => ({
    // Started by root, nginx would hand its worker to a user that cannot read the temporary folder.
    user: process.getuid?.() === 0 ? 'root' : '',
  }),
  // The master reads signals alone.
  requestProcesses: (tree) => tree.slice(1),
})
