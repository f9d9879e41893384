/** The control plane beside `self-fleet`: started, told what to serve, asked for a token to join with. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../programs.ts'
import type { PeerSetting } from './peer.ts'
import { PinnedProcess } from './pinned-process.ts'

const ANSWER_MS = 30_000

export interface RunningControlPlane {
  readonly fleet: string
  readonly joinToken: string
  readonly stop: () => Promise<void>
}

export async function startControlPlane(
  root: string,
  setting: PeerSetting,
): Promise<RunningControlPlane> {
  const folder = join(setting.folder, 'control-plane')
  const fleet = `127.0.0.1:${await freePort()}`
  const admin = `127.0.0.1:${await freePort()}`
  const program = new PinnedProcess({
    name: 'control plane',
    command: process.execPath,
    args: [
      join(root, 'control-plane', 'dist', 'main.js'),
      ...['--data-dir', folder],
      ...['--admin', admin],
      ...['--fleet', fleet],
    ],
    folder: setting.folder,
  })
  const stop = () => program.stop()
  try {
    const token = await program.until('it has no admin token', async () => {
      const answer = await fetch(`http://${admin}/healthz`, within(ANSWER_MS))
      return answer.ok && (await readFile(join(folder, 'admin-token'), 'utf8')).trim()
    })
    await post(admin, token, 'apply', { resources: await resourcesOf(setting) })
    const created = await post(admin, token, 'join-tokens', {})
    if (typeof created.token !== 'string')
      throw new Error('POST join-tokens: no token in the answer')
    return { fleet, joinToken: created.token, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The same as in bench/peers/self/sluice.yaml; one router for each host, as many operators have it. */
async function resourcesOf(setting: PeerSetting): Promise<unknown[]> {
  const { port, tlsPort, origins, hosts } = setting
  const chainPem = await readFile(setting.certificateFile, 'utf8')
  const privateKeyPem = await readFile(setting.keyFile, 'utf8')
  const servers = origins.map((origin) => ({ url: `http://${origin}` }))
  return [
    { kind: 'entry-point', name: 'web', address: `127.0.0.1:${port}`, protocol: 'http' },
    { kind: 'entry-point', name: 'websecure', address: `127.0.0.1:${tlsPort}`, protocol: 'https' },
    { kind: 'certificate', name: 'bench', source: 'uploaded', chainPem, privateKeyPem },
    { kind: 'service', name: 'origin', servers },
    ...hosts.map((host, index) => {
      return { kind: 'router', name: `bench-${index}`, match: { hosts: [host] }, service: 'origin' }
    }),
  ]
}

async function post(
  admin: string,
  token: string,
  path: string,
  body: unknown,
): Promise<Record<string, unknown>> {
  const answer = await fetch(`http://${admin}/api/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...within(ANSWER_MS),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}

function within(milliseconds: number): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(milliseconds) }
}
