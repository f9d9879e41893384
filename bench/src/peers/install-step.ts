/** One command of an installation: bounded, its output kept in the cache, its failure told in one line. */
import { execFile } from 'node:child_process'
import { appendFile, mkdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { fileOf } from './find-program.ts'
import { cachedProgram } from './places.ts'

const run = promisify(execFile)
const STEP_MS = 15 * 60_000
/** A build on cores that others use, too. */
const BUILD_MS = 120 * 60_000
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024
const REASON_CHARACTERS_MAX = 240

export interface StepPlace {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Its standard output. */
export function runStep(
  peer: string,
  command: string,
  args: readonly string[],
  place: StepPlace = {},
): Promise<string> {
  return execute(peer, [command, ...args], place, STEP_MS)
}

/** A build: it takes what CPU others leave. */
export async function runBuild(
  peer: string,
  command: string,
  args: readonly string[],
  place: StepPlace,
): Promise<string> {
  const hasChrt = (await fileOf('chrt')) !== undefined
  const idle = hasChrt ? ['chrt', '-i', '0', 'nice', '-n', '19'] : ['nice', '-n', '19']
  if ((await fileOf(command)) === undefined) throw new Error(`${command} is not on this machine`)
  return execute(peer, [...idle, command, ...args], place, BUILD_MS)
}

async function execute(
  peer: string,
  [program = '', ...args]: readonly string[],
  { cwd, env }: StepPlace,
  timeout: number,
): Promise<string> {
  const logs = cachedProgram('logs')
  await mkdir(logs, { recursive: true })
  const log = `${logs}/${peer}.log`
  try {
    const { stdout, stderr } = await run(program, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, ...env },
      timeout,
      maxBuffer: OUTPUT_BYTES_MAX,
    })
    await appendFile(log, `${program} ${args.join(' ')}\n${stderr}${stdout}\n`)
    return stdout
  } catch (error) {
    const failure = error as Error & { code?: unknown; killed?: boolean; stderr?: string }
    if (failure.code === 'ENOENT') throw new Error(`${program} is not on this machine`)
    await appendFile(log, `${program} ${args.join(' ')}\n${failure.stderr ?? ''}\n`)
    const late = failure.killed === true ? `not done after ${timeout / 60_000} minutes: ` : ''
    throw new Error(`${late}${lastErrorLine(failure.stderr ?? failure.message)} (see ${log})`)
  }
}

function lastErrorLine(text: string): string {
  const lines = text.trim().split('\n').filter(Boolean)
  const telling = lines.findLast((line) => /error|denied|refused|forbidden|not found/i.test(line))
  return (telling ?? lines.at(-1) ?? 'it printed nothing').trim().slice(0, REASON_CHARACTERS_MAX)
}
