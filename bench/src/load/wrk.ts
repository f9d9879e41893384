/** One run of wrk, and its report read strictly: a run with any failed request is no measurement. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { HOST } from '../scenarios.ts'

const run = promisify(execFile)

export interface Load {
  readonly cpus: string
  readonly connections: number
  readonly url: string
  /** The request asks for the end of its connection, and wrk opens the next one. */
  readonly isNewConnection?: boolean
  /** A Lua file that makes the requests. */
  readonly script?: string
}

export interface LoadReport {
  readonly requests: number
  readonly seconds: number
}

export async function applyLoad(load: Load, seconds: number): Promise<LoadReport> {
  const wrk = [
    ...['-t1', `-c${load.connections}`, `-d${seconds}s`],
    ...(load.script === undefined ? ['-H', `Host: ${HOST}`] : ['-s', load.script]),
    ...(load.isNewConnection === true ? ['-H', 'Connection: close'] : []),
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
