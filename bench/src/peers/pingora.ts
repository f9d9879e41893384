/**
 * Pingora is a library: this is a program of ours on it, built here. One thread, and the
 * OpenSSL that its crates build.
 */
import { configuredPeer } from './configured-peer.ts'
import { findProgram } from './find-program.ts'
import type { Peer } from './peer.ts'
import { cachedProgram } from './places.ts'

export const pingora: Peer = configuredPeer({
  name: 'pingora',
  title: 'Pingora',
  templates: ['pingora/pingora.conf.template'],
  sources: ['pingora/src/main.rs', 'pingora/src/configuration.rs', 'pingora/Cargo.toml'],
  find: () =>
    findProgram({
      candidates: [cachedProgram('pingora', 'bin', 'sluice-bench-pingora')],
      versionFlags: ['--version'],
      versionPattern: /^pingora (\S+)/m,
      origin: () => 'a program of this repository, built here, release, thin LTO',
      hint: 'bench/peers/install --only pingora',
    }),
  command: (_binary, folder) => ({ args: [`${folder}/pingora.conf`] }),
})
