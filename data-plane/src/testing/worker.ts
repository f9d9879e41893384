/** What the worker's own tests stand on: a worker in this process, on real sockets, with a configuration. */
import * as net from 'node:net'
import { type NameLookup, SystemLookup } from '../worker/names/name-lookup.ts'
import type { StreamHandle } from '../worker/transport/stream-internals.ts'
import { Worker } from '../worker/worker.ts'
import type { WorkerMessage, WorkerReport } from '../worker-protocol.ts'

export interface RunningWorker {
  readonly worker: Worker
  readonly port: number
  readonly messages: readonly WorkerMessage[]
  /** Rows of all reports until now, the worker's last one included. Ends the worker. */
  stop(): Promise<WorkerReport[]>
}

/** Starts a worker in this process that serves entry point `web` on a free port. */
export function startWorker(
  resources: readonly Uint8Array[],
  lookup: NameLookup = new SystemLookup(),
): RunningWorker {
  const messages: WorkerMessage[] = []
  const worker = new Worker((message) => messages.push(message), lookup)
  worker.start()
  worker.configure({ kind: 'configure', version: 1n, hash: '', removed: [], resources })
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
