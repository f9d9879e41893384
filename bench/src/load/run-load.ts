/** Runs a plan in a generator of its own process, on the CPUs and with the priority that it is given. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { LoadPlan, LoadResult } from './load-plan.ts'
import { MEASURING_LINE, SECOND_LINE } from './progress-lines.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
/** Few objects live longer than a request: a large young generation is collected rarely and at little cost. */
const NODE_FLAGS = ['--min-semi-space-size=16', '--max-semi-space-size=32']
/** For starting, opening connections and encoding the result; what a run needs beyond its own seconds. */
const GRACE_MS = 60_000
/** After an interruption the result comes at once, or the process is stuck. */
const INTERRUPT_MS = 5_000

export interface LoadSetting {
  /** As taskset takes them. */
  readonly processors: string
  readonly nice?: number
  /** idle: runs only when nothing else wants its CPUs, for a generator that spins beside an origin. */
  readonly schedulingPolicy?: 'other' | 'idle'
  /** Ends the run; the result covers what was measured until then. */
  readonly signal?: AbortSignal
  /** The warm-up is over. */
  readonly onMeasuring?: () => void
  /** About once a second of the measured time. */
  readonly onSecond?: (seconds: number) => void
}

export async function runLoad(plan: LoadPlan, setting: LoadSetting): Promise<LoadResult> {
  const [command = '', ...args] = commandOf(setting)
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const interrupt = (): void => {
    child.kill('SIGINT')
    setTimeout(() => child.kill('SIGKILL'), INTERRUPT_MS).unref()
  }
  const overdue = setTimeout(() => child.kill('SIGKILL'), longestMs(plan))
  setting.signal?.addEventListener('abort', interrupt, { once: true })
  // A child that ended already has said why on its standard error.
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(plan))
  if (setting.signal?.aborted) interrupt()
  try {
    const [result, said, [code, killedBy]] = await Promise.all([
      text(child.stdout),
      listen(child.stderr, setting),
      once(child, 'close'),
    ])
    if (code !== 0) throw new Error(`the load generator failed (${killedBy ?? code}): ${said}`)
    return JSON.parse(result) as LoadResult
  } finally {
    clearTimeout(overdue)
    setting.signal?.removeEventListener('abort', interrupt)
  }
}

function commandOf({ processors, nice, schedulingPolicy }: LoadSetting): string[] {
  return [
    ...['taskset', '-c', processors],
    ...(schedulingPolicy === 'idle' ? ['chrt', '--idle', '0'] : []),
    ...(nice === undefined ? [] : ['nice', '-n', String(nice)]),
    ...[process.execPath, ...NODE_FLAGS, MAIN],
  ]
}

function longestMs({ warmUpSeconds, schedule, timeoutMs }: LoadPlan): number {
  return (warmUpSeconds + schedule.seconds) * 1000 + timeoutMs * 2 + GRACE_MS
}

/** Passes progress on and keeps what else is said. */
async function listen(stream: NodeJS.ReadableStream, setting: LoadSetting): Promise<string> {
  const said: string[] = []
  for await (const line of createInterface({ input: stream })) {
    if (line === MEASURING_LINE) setting.onMeasuring?.()
    else if (line.startsWith(`${SECOND_LINE} `)) {
      setting.onSecond?.(Number(line.slice(SECOND_LINE.length + 1)))
    } else said.push(line)
  }
  return said.join('\n')
}
