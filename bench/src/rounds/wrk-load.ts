/** wrk: as many requests as its connections get answered. Its latencies are those of a closed loop and not read. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { ScenarioPlan } from '../artifacts/records.ts'

const GRACE_MS = 20_000
const TICK_NS = 1e7

const SCRIPT = `done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('COUNTS %d %d %d %d %d %d %d %d\\n', summary.requests, summary.duration,
    summary.bytes, e.status, e.connect, e.read, e.write, e.timeout))
end
`

export interface WrkSetting {
  readonly folder: string
  readonly processors: string
  readonly port: number
  readonly host: string
  readonly seconds: number
  readonly signal?: AbortSignal | undefined
}

export interface WrkResult {
  readonly seconds: number
  readonly ok: number
  readonly badStatus: number
  readonly bytes: number
  readonly errors: {
    readonly connect: number
    readonly read: number
    readonly write: number
    readonly timeout: number
    readonly short: number
  }
  readonly processorNs: number
  readonly output: string
}

export async function runWrk(scenario: ScenarioPlan, setting: WrkSetting): Promise<WrkResult> {
  const script = join(setting.folder, 'counts.lua')
  await mkdir(setting.folder, { recursive: true })
  await writeFile(script, SCRIPT)
  const { port, host, seconds, processors } = setting
  const scheme = scenario.protocol === 'https' ? 'https' : 'http'
  // wrk sends the URL's name as TLS server name, and `localhost` resolves without a resolver.
  const url = `${scheme}://${host}:${port}${scenario.paths[0] ?? '/'}`
  const args = [
    ...['-t1', `-c${scenario.connections}`, `-d${Math.max(1, Math.round(seconds))}s`],
    ...['--timeout', `${Math.ceil(scenario.timeoutMs / 1_000)}s`, '-s', script],
    ...(scenario.isConnectionPerRequest ? ['-H', 'Connection: close'] : []),
    url,
  ]
  // The shell waits for wrk and so knows what CPU it had: the fields of ended children in its own stat.
  const shell = 'wrk "$@"; code=$?; cat /proc/$$/stat >&2; exit $code'
  const child = spawn('taskset', ['-c', processors, 'sh', '-c', shell, 'sh', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const end = () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGINT')
  }
  const overdue = setTimeout(end, seconds * 1_000 + GRACE_MS)
  setting.signal?.addEventListener('abort', end, { once: true })
  try {
    const [output, said] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ])
    return readCounts(scenario, output, said)
  } finally {
    clearTimeout(overdue)
    setting.signal?.removeEventListener('abort', end)
  }
}

export function readCounts({ bodyBytes }: ScenarioPlan, output: string, said: string): WrkResult {
  const counts = /^COUNTS ([\d ]+)$/m.exec(output)?.[1]?.split(' ').map(Number)
  if (counts === undefined) throw new Error(`wrk printed no counts: ${output} ${said}`.trim())
  const [
    requests = 0,
    durationUs = 0,
    bytes = 0,
    badStatus = 0,
    connect = 0,
    read = 0,
    write = 0,
    timeout = 0,
  ] = counts
  const answered = Math.max(0, requests - badStatus)
  // Without all bodies the bytes cannot suffice: so many answers were short at least.
  const short = Math.max(0, answered - Math.floor(bytes / bodyBytes))
  const fields = said.slice(said.lastIndexOf(')') + 2).split(' ')
  return {
    seconds: durationUs / 1e6,
    ok: answered - short,
    badStatus,
    bytes,
    errors: { connect, read, write, timeout, short },
    processorNs: (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * TICK_NS,
    output,
  }
}
