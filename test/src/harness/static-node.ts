/** A node without a control plane: `sluice-node run --config`, its documents and ports chosen by the caller. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import type { Document } from './api-client.ts'
import type { NodeStatus } from './data-plane-node.ts'
import { freePort } from './ports.ts'
import { NODE } from './programs.ts'
import type { Scope } from './scope.ts'
import type { SystemProcess } from './system-process.ts'

export interface StaticNodeOptions {
  readonly name?: string
  readonly documents: readonly Document[]
  readonly workers?: number
  /** Names as `--limit` has them. */
  readonly limits?: Readonly<Record<string, number>>
  /** Further words of the command line. */
  readonly words?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** What starts such a node: also for a caller that has to start it in a way of its own. */
export interface StaticCommand {
  readonly words: readonly string[]
  readonly file: string
  readonly statusPort: number
}

export async function staticCommand(
  scope: Scope,
  options: StaticNodeOptions,
): Promise<StaticCommand> {
  const { documents, workers = 1, limits = {}, words = [] } = options
  const folder = await scope.temporaryDirectory()
  const file = join(folder, 'node.yaml')
  await writeFile(file, documentsText(documents))
  const statusPort = await freePort()
  const limitWords = Object.entries(limits).flatMap(([name, value]) => [
    '--limit',
    `${name}=${value}`,
  ])
  const where = ['--config', file, '--status', `127.0.0.1:${statusPort}`]
  const all = [NODE, 'run', ...where, '--workers', String(workers), ...limitWords, ...words]
  return { words: all, file, statusPort }
}

/** JSON is YAML. */
export function documentsText(documents: readonly Document[]): string {
  return documents.map((one) => JSON.stringify(one)).join('\n---\n')
}

export class StaticNode {
  readonly process: SystemProcess
  readonly file: string
  readonly statusPort: number

  static async start(scope: Scope, options: StaticNodeOptions): Promise<StaticNode> {
    const { words, file, statusPort } = await staticCommand(scope, options)
    const name = `node ${options.name ?? 'without a control plane'}`
    const { environment = {} } = options
    const program = { command: process.execPath, arguments: words, environment }
    const started = scope.start({ name, ...program })
    await started.waitForReady()
    return new StaticNode(started, file, statusPort)
  }

  private constructor(started: SystemProcess, file: string, statusPort: number) {
    this.process = started
    this.file = file
    this.statusPort = statusPort
  }

  async workerPids(): Promise<readonly number[]> {
    const answer = await request(`http://127.0.0.1:${this.statusPort}/status`)
    const { workers } = (await answer.body.json()) as Pick<NodeStatus, 'workers'>
    return workers.map(({ pid }) => pid)
  }

  /** The value of a series of /metrics: its name without the common prefix, with its labels if it has any. */
  async metric(series: string): Promise<number> {
    const answer = await request(`http://127.0.0.1:${this.statusPort}/metrics`)
    const text = await answer.body.text()
    const line = text.split('\n').find((one) => one.startsWith(`sluice_node_${series} `))
    return Number(line?.split(' ').at(-1) ?? 0)
  }
}
