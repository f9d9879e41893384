/** The `sluice-node` program as a process of its own, for tests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { waitFor } from './supervisor/wait-for.fixture.ts'

const PROGRAM = fileURLToPath(new URL('main.ts', import.meta.url))

export interface Program {
  readonly child: ChildProcess
  readonly exit: Promise<number | null>
  out: string
  error: string
}

export class Programs {
  readonly #started: Program[] = []

  start(argv: readonly string[], environment: NodeJS.ProcessEnv = {}): Program {
    const child = spawn(process.execPath, [PROGRAM, ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    })
    const exit = once(child, 'exit').then(([code]: (number | null)[]) => code ?? null)
    const program: Program = { child, exit, out: '', error: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      program.out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      program.error += text
    })
    this.#started.push(program)
    return program
  }

  kill(): void {
    for (const program of this.#started.splice(0)) program.child.kill('SIGKILL')
  }
}

export type LogRecord = Readonly<Record<string, unknown>>

/** The lines that the program has logged with this message. */
export function logged(program: Program, message: string): LogRecord[] {
  return program.out
    .split('\n')
    .filter((line) => line.includes(`"msg":"${message}"`))
    .map((line): LogRecord => JSON.parse(line))
}

/** Once it is ready: where its first entry point is. */
export async function addressOf(program: Program): Promise<string> {
  await waitFor(() => logged(program, 'ready').length > 0, 'the ready line')
  return String(logged(program, 'listening')[0]?.address)
}

/** Once it is ready: what its status endpoint has at the path. */
export async function statusText(program: Program, path: string): Promise<string> {
  await waitFor(() => logged(program, 'ready').length > 0, 'the ready line')
  const response = await fetch(`http://${logged(program, 'ready')[0]?.statusAddress}${path}`)
  return response.text()
}
