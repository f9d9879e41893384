import { fileURLToPath } from 'node:url'
import type { Scope } from '../scope.ts'

const PROGRAM = fileURLToPath(new URL('./echo-origin.ts', import.meta.url))

/** Starts the echo origin in a process of its own and gives its port. */
export async function startEchoOrigin(scope: Scope, name = 'origin'): Promise<number> {
  const started = scope.start({ name, command: process.execPath, arguments: [PROGRAM, name] })
  return Number((await started.waitForReady()).port)
}
