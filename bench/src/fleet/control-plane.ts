/** The control plane that is measured: its built program, on ports and data that outlive a restart. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { freePort } from '../programs.ts'

const PROGRAM = fileURLToPath(new URL('../../../control-plane/dist/main.js', import.meta.url))
const START_MS = 60_000
const END_MS = 10_000
const CALL_MS = 60_000

export class MeasuredControlPlane {
  readonly fleetAddress: string
  readonly #directory: string
  readonly #admin: string
  readonly #agent = new Agent({ connections: 4, pipelining: 1 })
  readonly #isYielding: boolean
  #token = ''
  #child: ChildProcess | undefined
  #output = ''

  private constructor(directory: string, admin: string, fleetAddress: string, isYielding: boolean) {
    this.#directory = directory
    this.#isYielding = isYielding
    this.#admin = admin
    this.fleetAddress = fleetAddress
  }

  /** `isYielding`: at the lowest priority, where it stands for one on another machine. */
  static async start(directory: string, isYielding = false): Promise<MeasuredControlPlane> {
    const [admin, fleet] = [await freePort(), await freePort()]
    const started = new MeasuredControlPlane(
      directory,
      `127.0.0.1:${admin}`,
      `127.0.0.1:${fleet}`,
      isYielding,
    )
    await started.startAgain()
    return started
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** The certificate that nodes trust. */
  caPem(): Promise<string> {
    return readFile(join(this.#directory, 'ca.pem'), 'utf8')
  }

  async startAgain(): Promise<void> {
    this.#output = ''
    const child = spawn(
      this.#isYielding ? 'nice' : process.execPath,
      [
        ...(this.#isYielding ? ['-n', '19', process.execPath] : []),
        PROGRAM,
        ...['--data-dir', this.#directory],
        ...['--admin', this.#admin],
        ...['--fleet', this.fleetAddress],
        ...['--log-level', 'error'],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output = `${this.#output}${text}`.slice(-10_000)
      })
    }
    await this.#answers()
    this.#token = (await readFile(join(this.#directory, 'admin-token'), 'utf8')).trim()
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    const late = setTimeout(() => child.kill('SIGKILL'), END_MS)
    await ended
    clearTimeout(late)
  }

  async close(): Promise<void> {
    await this.end('SIGTERM')
    await this.#agent.close()
  }

  // The type is what the API promises; a wrong one shows as a figure that is missing.
  async call<T>(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<T> {
    const answer = await request(`http://${this.#admin}/api/v1/${path}`, {
      method,
      dispatcher: this.#agent,
      headersTimeout: CALL_MS,
      bodyTimeout: CALL_MS,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 300) {
      throw new Error(`${method} ${path} was answered ${answer.statusCode}: ${text.slice(0, 500)}`)
    }
    return JSON.parse(text) as T
  }

  /** The most memory that the process has had since it started, bytes. */
  memoryPeak(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8')
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
  }

  async #answers(): Promise<void> {
    const deadline = performance.now() + START_MS
    let last: unknown
    while (performance.now() < deadline && this.#child?.exitCode === null) {
      try {
        if ((await fetch(`http://${this.#admin}/healthz`)).ok) return
      } catch (error) {
        last = error
      }
      await delay(20)
    }
    throw new Error(`the control plane is not ready: ${this.#output}`, { cause: last })
  }
}
