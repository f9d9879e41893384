/** Traefik, built here from its Go module; one CPU by affinity. */
import { configuredPeer } from './configured-peer.ts'
import { findProgram } from './find-program.ts'
import type { Peer } from './peer.ts'
import { cachedProgram } from './places.ts'

export const traefik: Peer = configuredPeer({
  name: 'traefik',
  title: 'Traefik',
  templates: ['traefik/traefik.yaml.template', 'traefik/routes.yaml.template'],
  sources: ['traefik/nodns/nodns.go', 'traefik/ext/ext.go'],
  find: () =>
    findProgram({
      candidates: [cachedProgram('traefik', 'traefik'), 'traefik'],
      versionFlags: ['version'],
      versionPattern: /^Version:\s+v?(\S+)/m,
      origin: () => 'built here from its Go module, without DNS providers and basic auth',
      hint: 'bench/peers/install --only traefik',
    }),
  command: (_binary, folder) => ({ args: [`--configFile=${folder}/traefik.yaml`] }),
})
