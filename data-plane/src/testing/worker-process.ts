/** A worker in a process of its own, with limits and a file limit that the test chooses. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as net from 'node:net'
import { fileURLToPath } from 'node:url'
import { CHANGES_VARIABLE, type LimitChanges } from '../limits.ts'
import type { StreamHandle } from '../worker/transport/stream-internals.ts'
import type { SupervisorMessage, WorkerMessage, WorkerReport } from '../worker-protocol.ts'

const PROGRAM = fileURLToPath(new URL('../worker/main.ts', import.meta.url))
/** Of the kernel's accounting of processes. */
const TICKS_PER_SECOND = 100

export interface ProcessOptions {
  /** Files that it may have open. */
  readonly descriptorsMax: number
  readonly limits?: LimitChanges
}

export class WorkerInProcess {
  readonly messages: WorkerMessage[] = []
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
    child.on('message', (message) => this.messages.push(message as WorkerMessage))
  }

  static async start(
    resources: readonly Uint8Array[],
    { descriptorsMax, limits = {} }: ProcessOptions,
  ): Promise<WorkerInProcess> {
    const script = `ulimit -n ${descriptorsMax}; exec "$0" "$1"`
    const child = spawn('sh', ['-c', script, process.execPath, PROGRAM], {
      serialization: 'advanced',
      env: { ...process.env, [CHANGES_VARIABLE]: JSON.stringify(limits) },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    await once(child, 'message')
    const make: (address: string, port: number, family: 4) => StreamHandle = Reflect.get(
      net,
      '_createServerHandle',
    )
    const handle = make('127.0.0.1', 0, 4)
    const name: { port?: number } = {}
    handle.getsockname(name)
    const worker = new WorkerInProcess(child, name.port ?? 0)
    worker.#send({ kind: 'configure', version: 1n, hash: '', removed: [], resources })
    worker.#send({ kind: 'listen', entryPoint: 'web' }, handle)
    while (!worker.messages.some(({ kind }) => kind === 'listening')) await once(child, 'message')
    handle.close()
    return worker
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Seconds of a CPU that it has used. */
  get cpuSeconds(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').split(' ')
    return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
  }

  /** Lets it drain; all of its reports. */
  async stop(): Promise<WorkerReport[]> {
    if (this.#child.connected) {
      this.#send({ kind: 'drain', graceMs: 0 })
      await once(this.#child, 'close')
    }
    return this.messages.filter((message) => message.kind === 'report')
  }

  #send(message: SupervisorMessage, handle?: StreamHandle): void {
    // Node's types do not list raw handles among what a message may carry, but its IPC passes them.
    this.#child.send(message, handle as unknown as net.Socket | undefined)
  }
}
