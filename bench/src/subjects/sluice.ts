/** Our side: a control plane, and a node with one worker that got its configuration from it. Defaults throughout. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, type Programs, until } from '../programs.ts'
import { HOST } from '../scenarios.ts'
import type { Subject, Surroundings } from './subject.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** `name` is that of its folder: several nodes can stand beside each other. */
export async function startSluice(
  programs: Programs,
  around: Surroundings,
  { name = 'sluice', hosts = [HOST] }: { name?: string; hosts?: readonly string[] } = {},
): Promise<Subject> {
  const directory = join(around.directory, name)
  const ports = { http: await freePort(), https: await freePort() }
  const resources = resourcesOf(around, ports, hosts)
  const place = { directory, cpus: around.machine.otherCpus }
  const { fleet, joinToken } = await startControlPlane(programs, place, resources)
  const statusPort = await freePort()
  const node = programs.start('node', around.machine.proxyCpu, process.execPath, [
    join(ROOT, 'data-plane/dist/main.js'),
    'run',
    ...['--control-plane', fleet],
    ...['--join-token', joinToken],
    ...['--name', 'bench'],
    ...['--data-dir', join(directory, 'node')],
    ...['--status', `127.0.0.1:${statusPort}`],
    ...['--workers', '1'],
  ])
  const worker = await until(node, () => readyWorker(statusPort))
  return { name: 'sluice', ports, supervisor: node.pid, worker }
}

async function startControlPlane(
  programs: Programs,
  place: { readonly directory: string; readonly cpus: string },
  resources: readonly unknown[],
): Promise<{ fleet: string; joinToken: string }> {
  const directory = join(place.directory, 'control-plane')
  const fleet = `127.0.0.1:${await freePort()}`
  const admin = `127.0.0.1:${await freePort()}`
  const program = programs.start('control plane', place.cpus, process.execPath, [
    join(ROOT, 'control-plane/dist/main.js'),
    ...['--data-dir', directory],
    ...['--admin', admin],
    ...['--fleet', fleet],
  ])
  const token = await until(program, async () => {
    const answer = await fetch(`http://${admin}/healthz`)
    return answer.ok && (await readFile(join(directory, 'admin-token'), 'utf8')).trim()
  })
  await post(admin, token, 'apply', { resources })
  const created = await post(admin, token, 'join-tokens', {})
  return { fleet, joinToken: created.token as string }
}

/** One router for each host, as many operators have it. */
function resourcesOf(
  { certificate, originPort }: Surroundings,
  ports: Subject['ports'],
  hosts: readonly string[],
): unknown[] {
  const { chainPem, keyPem } = certificate
  return [
    { kind: 'entry-point', name: 'web', address: `127.0.0.1:${ports.http}`, protocol: 'http' },
    {
      kind: 'entry-point',
      name: 'websecure',
      address: `127.0.0.1:${ports.https}`,
      protocol: 'https',
    },
    { kind: 'certificate', name: 'bench', source: 'uploaded', chainPem, privateKeyPem: keyPem },
    { kind: 'service', name: 'origin', servers: [{ url: `http://127.0.0.1:${originPort}` }] },
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
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}

async function readyWorker(statusPort: number): Promise<number | undefined> {
  if (!(await fetch(`http://127.0.0.1:${statusPort}/readyz`)).ok) return undefined
  const answer = await fetch(`http://127.0.0.1:${statusPort}/status`)
  const status = (await answer.json()) as { workers: { pid: number }[] }
  return status.workers[0]?.pid
}
