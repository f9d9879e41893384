/** Our side: a control plane, and a node with one worker that got its configuration from it. Defaults throughout. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, type Program, type Programs, until } from './programs.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const START_MS = 20_000

export interface SluiceOptions {
  readonly directory: string
  readonly nodeCpus: string
  readonly controlPlaneCpus: string
  readonly host: string
  readonly originPort: number
}

export interface Sluice {
  readonly port: number
  readonly supervisor: number
  readonly worker: number
}

export async function startSluice(programs: Programs, options: SluiceOptions): Promise<Sluice> {
  const port = await freePort()
  const { fleet, joinToken } = await startControlPlane(programs, options, port)
  const statusPort = await freePort()
  const node = programs.start('node', options.nodeCpus, process.execPath, [
    join(ROOT, 'data-plane/dist/main.js'),
    'run',
    ...['--control-plane', fleet],
    ...['--join-token', joinToken],
    ...['--name', 'bench'],
    ...['--data-dir', join(options.directory, 'node')],
    ...['--status', `127.0.0.1:${statusPort}`],
    ...['--workers', '1'],
  ])
  const worker = await workerOf(node, statusPort)
  return { port, supervisor: node.pid, worker }
}

async function startControlPlane(
  programs: Programs,
  options: SluiceOptions,
  port: number,
): Promise<{ fleet: string; joinToken: string }> {
  const directory = join(options.directory, 'control-plane')
  const fleet = `127.0.0.1:${await freePort()}`
  const admin = `127.0.0.1:${await freePort()}`
  const program = programs.start('control plane', options.controlPlaneCpus, process.execPath, [
    join(ROOT, 'control-plane/dist/main.js'),
    ...['--data-dir', directory],
    ...['--admin', admin],
    ...['--fleet', fleet],
  ])
  const token = await until('the control plane to start', START_MS, async () => {
    const answer = await fetch(`http://${admin}/healthz`)
    return answer.ok ? (await readFile(join(directory, 'admin-token'), 'utf8')).trim() : undefined
  }).catch((error: unknown) => {
    throw new Error(`control plane: ${program.output()}`, { cause: error })
  })
  await post(admin, token, 'apply', { resources: resources(options, port) })
  const created = await post(admin, token, 'join-tokens', {})
  return { fleet, joinToken: created.token as string }
}

function resources({ host, originPort }: SluiceOptions, port: number): unknown[] {
  return [
    { kind: 'entry-point', name: 'web', address: `127.0.0.1:${port}`, protocol: 'http' },
    { kind: 'service', name: 'origin', servers: [{ url: `http://127.0.0.1:${originPort}` }] },
    { kind: 'router', name: 'bench', match: { hosts: [host] }, service: 'origin' },
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
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}

async function workerOf(node: Program, statusPort: number): Promise<number> {
  try {
    return await until('the node to be ready', START_MS, async () => {
      if (!(await fetch(`http://127.0.0.1:${statusPort}/readyz`)).ok) return undefined
      const answer = await fetch(`http://127.0.0.1:${statusPort}/status`)
      const status = (await answer.json()) as { workers: { pid: number }[] }
      return status.workers[0]?.pid
    })
  } catch (error) {
    throw new Error(`node: ${node.output()}`, { cause: error })
  }
}
