/** How long a real node takes from its start to ready, with nothing on its disk and then from its disk. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../programs.ts'
import type { MeasuredControlPlane } from './control-plane.ts'

const PROGRAM = fileURLToPath(new URL('../../../data-plane/dist/main.js', import.meta.url))
const READY_MS = 60_000
const LOOK_MS = 10

export interface ColdStart {
  /** It joins, gets its identity and then the whole version. */
  readonly joinMs: number
  readonly fromDiskMs: number
}

export async function measureColdStart(
  controlPlane: MeasuredControlPlane,
  directory: string,
): Promise<ColdStart> {
  const { token } = await controlPlane.call<{ token: string }>('POST', 'join-tokens', {})
  const listen = `web=127.0.0.1:${await freePort()}`
  const flags = [
    ...['--control-plane', controlPlane.fleetAddress],
    ...['--name', 'real', '--data-dir', join(directory, 'node')],
    ...['--workers', '1', '--listen', listen],
  ]
  const joinMs = await startOnce([...flags, '--join-token', token])
  const fromDiskMs = await startOnce(flags)
  return { joinMs, fromDiskMs }
}

async function startOnce(flags: readonly string[]): Promise<number> {
  const status = `127.0.0.1:${await freePort()}`
  const began = performance.now()
  const child = spawn(process.execPath, [PROGRAM, 'run', ...flags, '--status', status], {
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  try {
    const deadline = began + READY_MS
    while (performance.now() < deadline && child.exitCode === null) {
      if (await isReady(status)) return performance.now() - began
      await delay(LOOK_MS)
    }
    throw new Error('the node is not ready')
  } finally {
    child.kill('SIGTERM')
    await ended
  }
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
