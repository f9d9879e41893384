/** A built node under the control plane that is measured. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../programs.ts'
import type { MeasuredControlPlane } from './control-plane.ts'

const PROGRAM = fileURLToPath(new URL('../../../data-plane/dist/main.js', import.meta.url))
const READY_MS = 60_000
const LOOK_MS = 5

export class RealNode {
  readonly port: number
  /** From its start to ready. */
  readonly readyMs: number
  readonly #child: ChildProcess
  readonly #status: string

  private constructor(child: ChildProcess, port: number, status: string, readyMs: number) {
    this.#child = child
    this.port = port
    this.#status = status
    this.readyMs = readyMs
  }

  /** The first start in a directory joins; the others find their identity and the last version there. */
  static async start(controlPlane: MeasuredControlPlane, directory: string): Promise<RealNode> {
    const [port, status] = [await freePort(), `127.0.0.1:${await freePort()}`]
    const { token } = await controlPlane.call<{ token: string }>('POST', 'join-tokens', {})
    const flags = [
      ...['--control-plane', controlPlane.fleetAddress, '--join-token', token],
      ...['--name', 'real', '--data-dir', join(directory, 'node')],
      ...['--workers', '1', '--listen', `web=127.0.0.1:${port}`, '--status', status],
    ]
    const began = performance.now()
    const child = spawn(process.execPath, [PROGRAM, 'run', ...flags], { stdio: 'ignore' })
    try {
      await untilReady(child, status)
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
    return new RealNode(child, port, status, performance.now() - began)
  }

  /** Resolves when all its workers serve the version. */
  async untilApplied(version: number): Promise<void> {
    const deadline = performance.now() + READY_MS
    while (performance.now() < deadline) {
      const answer = await fetch(`http://${this.#status}/status`)
      const { version: running } = (await answer.json()) as { version: number }
      if (running >= version) return
      await delay(LOOK_MS)
    }
    throw new Error(`the node does not run version ${version}`)
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await ended
  }
}

async function untilReady(child: ChildProcess, status: string): Promise<void> {
  const deadline = performance.now() + READY_MS
  while (performance.now() < deadline && child.exitCode === null) {
    if (await isReady(status)) return
    await delay(LOOK_MS)
  }
  throw new Error('the node is not ready')
}

async function isReady(status: string): Promise<boolean> {
  try {
    const answer = await fetch(`http://${status}/readyz`)
    await answer.arrayBuffer()
    return answer.ok
  } catch {
    // It does not listen yet.
    return false
  }
}
