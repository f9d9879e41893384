/** A proxy under test in `bench:engine`: a peer, its ports, and the one process of it that handles requests. */
import { join } from 'node:path'
import type { Certificate } from './certificate.ts'
import type { Origin } from './origin/origin.ts'
import { peerNamed } from './peers/all-peers.ts'
import { freePort } from './programs.ts'
import type { Machine } from './requirements.ts'
import { HOST, type Protocol } from './scenarios.ts'

export type SubjectName = 'sluice' | 'nginx' | 'haproxy'

export interface Subject {
  readonly name: SubjectName
  readonly ports: Readonly<Record<Protocol, number>>
  /** The process that handles requests. */
  readonly worker: number
  /** Ours alone has one that works beside it. */
  readonly supervisor?: number
}

export interface Surroundings {
  readonly directory: string
  readonly machine: Machine
  readonly certificate: Certificate
  readonly origin: Origin
}

interface Stoppable {
  stop(): Promise<void>
}

/** All that a run has started; it ends with `endAll`. */
export class StartedPrograms {
  readonly #started: Stoppable[] = []

  add<T extends Stoppable>(started: T): T {
    this.#started.push(started)
    return started
  }

  async endAll(): Promise<void> {
    await Promise.all(this.#started.map((one) => one.stop()))
  }
}

/** Ours is configured by a control plane, as in a fleet. */
const PEERS = { sluice: 'self-fleet', nginx: 'nginx', haproxy: 'haproxy' } as const

/** `folder` is that of its configuration: several nodes can stand beside each other. */
export async function startSubject(
  programs: StartedPrograms,
  around: Surroundings,
  name: SubjectName,
  { folder = name, hosts = [HOST] }: { folder?: string; hosts?: readonly string[] } = {},
): Promise<Subject> {
  const ports = { http: await freePort(), https: await freePort() }
  const started = await peerNamed(PEERS[name]).start({
    folder: join(around.directory, folder),
    port: ports.http,
    tlsPort: ports.https,
    origins: around.origin.addresses,
    certificateFile: around.certificate.chainFile,
    keyFile: around.certificate.keyFile,
    processors: around.machine.proxyCpu,
    hosts,
  })
  const peer = programs.add(started)
  const [worker] = peer.requestProcesses()
  if (worker === undefined) throw new Error(`${name} has no process that handles requests`)
  const [leader] = peer.processes()
  const isBeside = name === 'sluice' && leader !== undefined && leader !== worker
  return { name, ports, worker, ...(isBeside ? { supervisor: leader } : {}) }
}
