/** oha, where it is installed: one open-loop run, with its latencies from the moment a request was released. */
import { execFile } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { outputOf } from '../programs.ts'

const run = promisify(execFile)
const OUTPUT_BYTES_MAX = 64 << 20

export interface OhaLoad {
  readonly url: string
  readonly host: string
  readonly connections: number
  readonly perSecond: number
  readonly seconds: number
  /** As taskset takes them. */
  readonly processors: string
}

export interface OhaReport {
  readonly requests: number
  readonly p50Us: number
  readonly p99Us: number
}

/** The command, or undefined. Looked for in the cache of peers first: there its version is known. */
export async function findOha(): Promise<{ command: string; version: string } | undefined> {
  const cache = process.env.SLUICE_BENCH_CACHE ?? join(homedir(), '.cache', 'sluice-bench')
  for (const command of [join(cache, 'bin', 'oha'), 'oha']) {
    const version = (await outputOf(command, ['--version']))?.trim()
    if (version !== undefined) return { command, version }
  }
  return undefined
}

export async function runOha(command: string, load: OhaLoad): Promise<OhaReport> {
  const { stdout } = await run(
    'taskset',
    [
      ...['-c', load.processors, command, '--no-tui', '--output-format', 'json'],
      ...['-z', `${load.seconds}s`, '-q', String(load.perSecond), '-c', String(load.connections)],
      ...['--latency-correction', '--host', load.host, load.url],
    ],
    { maxBuffer: OUTPUT_BYTES_MAX },
  )
  return readReport(stdout)
}

interface OhaOutput {
  readonly latencyPercentiles: { readonly p50: number; readonly p99: number }
  readonly statusCodeDistribution: Readonly<Record<string, number>>
}

/** Percentiles are seconds. A run with any answer but 200 compares nothing. */
export function readReport(text: string): OhaReport {
  const { latencyPercentiles, statusCodeDistribution } = JSON.parse(text) as OhaOutput
  const others = Object.keys(statusCodeDistribution).filter((status) => status !== '200')
  if (others.length > 0) throw new Error(`oha was answered ${others.join(', ')}`)
  return {
    requests: statusCodeDistribution['200'] ?? 0,
    p50Us: latencyPercentiles.p50 * 1e6,
    p99Us: latencyPercentiles.p99 * 1e6,
  }
}
