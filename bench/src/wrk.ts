/** One run of wrk, and its report read strictly: a run with any failed request is no measurement. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Load {
  readonly cpus: string
  readonly connections: number
  readonly url: string
  readonly host: string
}

export interface LoadReport {
  readonly requests: number
  readonly seconds: number
}

export async function applyLoad(load: Load, seconds: number): Promise<LoadReport> {
  const wrk = [
    '-t1',
    `-c${load.connections}`,
    `-d${seconds}s`,
    '-H',
    `Host: ${load.host}`,
    load.url,
  ]
  const { stdout } = await run('taskset', ['-c', load.cpus, 'wrk', ...wrk])
  return readReport(stdout)
}

function readReport(text: string): LoadReport {
  const counted = /^\s*(\d+) requests in ([\d.]+)(s|m)/m.exec(text)
  const failed = /Non-2xx or 3xx responses: \d+|Socket errors: .+/.exec(text)
  if (failed !== null) throw new Error(`wrk saw failed requests: ${failed[0]}`)
  if (counted === null) throw new Error(`wrk printed no count: ${text}`)
  const seconds = Number(counted[2]) * (counted[3] === 'm' ? 60 : 1)
  return { requests: Number(counted[1]), seconds }
}
