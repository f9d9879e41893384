/**
 * Our node, one worker, defaults throughout. `self` reads a static file; `self-fleet` is the same node under a real
 * control plane, which pushes it entry points, routers, service and certificate, with analytics and logs on. The
 * control plane runs on the CPUs of the harness, since a fleet has it on another machine.
 */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../programs.ts'
import { requireFreePorts, settle } from './configured-peer.ts'
import { sha256Of } from './find-program.ts'
import { startControlPlane } from './fleet.ts'
import type { Found, Peer, PeerSetting, RunningPeer } from './peer.ts'
import { PinnedProcess } from './pinned-process.ts'
import { CONFIGURATIONS, REPOSITORY } from './places.ts'
import { fillTemplate } from './template.ts'

const run = promisify(execFile)

export interface SelfOptions {
  readonly name: string
  readonly title: string
  readonly withControlPlane: boolean
  /** A checkout with dist/ built; absent: this one. Two of them are compared by `ab`. */
  readonly root?: string
}

export const self: Peer = selfPeer({ name: 'self', title: 'Sluice', withControlPlane: false })

export const selfFleet: Peer = selfPeer({
  name: 'self-fleet',
  title: 'Sluice (fleet)',
  withControlPlane: true,
})

export function selfPeer(options: SelfOptions): Peer {
  const root = options.root ?? REPOSITORY
  return {
    name: options.name,
    title: options.title,
    configurationFile: join(CONFIGURATIONS, 'self', 'sluice.yaml.template'),
    otherFiles: [],
    find: () => findSelf(root),
    start: (setting) =>
      options.withControlPlane
        ? startInFleet(options.name, root, setting)
        : startIsolated(options.name, root, setting),
  }
}

async function findSelf(root: string): Promise<Found> {
  const main = join(root, 'data-plane', 'dist', 'main.js')
  try {
    const { stdout } = await run(process.execPath, [main, '--version'])
    const sha256 = await sha256Of(main)
    const origin = `${root}, dist, on Node ${process.version}`
    return { kind: 'found', version: stdout.trim(), binary: main, sha256, origin }
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    return { kind: 'missing', reason: `not built, npm run build: ${reason}` }
  }
}

async function startIsolated(
  name: string,
  root: string,
  setting: PeerSetting,
): Promise<RunningPeer> {
  await prepare(name, setting)
  const file = join(setting.folder, 'sluice.yaml')
  await writeFile(file, await documents(setting))
  return startNode(name, root, setting, { flags: ['--config', file] })
}

async function startInFleet(
  name: string,
  root: string,
  setting: PeerSetting,
): Promise<RunningPeer> {
  await prepare(name, setting)
  const controlPlane = await startControlPlane(root, setting)
  const flags = [
    ...['--control-plane', controlPlane.fleet],
    ...['--join-token', controlPlane.joinToken],
    ...['--name', 'bench'],
    ...['--data-dir', join(setting.folder, 'node')],
  ]
  return startNode(name, root, setting, { flags, beside: controlPlane.stop })
}

async function startNode(
  name: string,
  root: string,
  setting: PeerSetting,
  { flags, beside }: { flags: readonly string[]; beside?: () => Promise<void> },
): Promise<RunningPeer> {
  const node = new PinnedProcess({
    name,
    command: process.execPath,
    args: [
      join(root, 'data-plane', 'dist', 'main.js'),
      'run',
      ...flags,
      ...['--status', `127.0.0.1:${await freePort()}`],
      ...['--workers', '1'],
      ...['--drain-grace', '1'],
    ],
    folder: setting.folder,
    processors: setting.processors,
  })
  // The leader is the supervisor, which no request passes.
  const workers = (tree: readonly number[]) => tree.filter((pid) => pid !== node.pid)
  return settle(name, setting, node, workers, beside)
}

async function prepare(name: string, setting: PeerSetting): Promise<void> {
  requireFreePorts(name, setting)
  await mkdir(setting.folder, { recursive: true })
}

async function documents(setting: PeerSetting): Promise<string> {
  const template = await readFile(join(CONFIGURATIONS, 'self', 'sluice.yaml.template'), 'utf8')
  return fillTemplate(template, {
    port: String(setting.port),
    tlsPort: String(setting.tlsPort),
    certificate: setting.certificateFile,
    key: setting.keyFile,
    host: setting.hosts,
    origin: setting.origins,
  })
}
