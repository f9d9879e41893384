/** What the worker's own tests stand on: a worker in this process, on real sockets, with a configuration. */
import * as net from 'node:net'
import { type EntryPointProtocol, Resource } from '@sluice/proto'
import type { WorkerMessage, WorkerReport } from '../worker-protocol.ts'
import type { StreamHandle } from './transport/stream-internals.ts'
import { Worker } from './worker.ts'

type ResourceValue = NonNullable<Resource['resource']>

export function encode(resource: ResourceValue): Uint8Array {
  return Resource.encode({ resource }).finish()
}

export function entryPoint(name: string, protocol: EntryPointProtocol = 1, trusted: string[] = []) {
  return encode({
    $case: 'entryPoint',
    value: {
      name,
      address: '127.0.0.1:0',
      protocol,
      trustedPeers: trusted,
      defaultCertificate: '',
    },
  })
}

export function router(name: string, service: string, match: Partial<RouterMatchFields> = {}) {
  return encode({
    $case: 'router',
    value: {
      name,
      entryPoints: [],
      match: {
        hosts: [],
        pathPrefixes: [],
        pathRegexes: [],
        methods: [],
        clientRanges: [],
        ...match,
      },
      priority: 0,
      service,
    },
  })
}

interface RouterMatchFields {
  hosts: string[]
  pathPrefixes: string[]
  pathRegexes: string[]
  methods: string[]
  clientRanges: string[]
}

export function service(name: string, ports: readonly number[], firstByteMs = 5_000) {
  return encode({
    $case: 'service',
    value: {
      name,
      servers: ports.map((port) => ({ url: `http://127.0.0.1:${port}`, weight: 1 })),
      timeouts: { connectMs: 1_000, firstByteMs, idleMs: 5_000 },
      idleConnectionsMax: 64,
      passHost: true,
    },
  })
}

export interface RunningWorker {
  readonly worker: Worker
  readonly port: number
  readonly messages: readonly WorkerMessage[]
  /** Rows of all reports until now, the worker's last one included. Ends the worker. */
  stop(): Promise<WorkerReport[]>
}

/** Starts a worker in this process that serves entry point `web` on a free port. */
export function startWorker(resources: readonly Uint8Array[]): RunningWorker {
  const messages: WorkerMessage[] = []
  const worker = new Worker((message) => messages.push(message))
  worker.start()
  worker.configure({ kind: 'configure', version: 1n, hash: '', resources: [...resources] })
  const make: (address: string, port: number, family: 4) => StreamHandle = Reflect.get(
    net,
    '_createServerHandle',
  )
  const handle = make('127.0.0.1', 0, 4)
  worker.listen('web', handle)
  const name: { port?: number } = {}
  handle.getsockname(name)
  return {
    worker,
    port: name.port ?? 0,
    messages,
    async stop() {
      await worker.drain(0)
      return messages.filter((message) => message.kind === 'report')
    },
  }
}
