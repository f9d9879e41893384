/** Reads the folder of a session back. Every file is checked against its schema; all problems are told at once. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type {
  Artifacts,
  Environment,
  Parity,
  Plan,
  RunRecord,
  Series,
  SeriesRow,
  SessionOutcome,
} from './records.ts'
import { problemsIn, type SchemaName } from './schemas.ts'

export class ArtifactError extends Error {
  readonly problems: readonly string[]

  constructor(folder: string, problems: readonly string[]) {
    super(`${folder} is no record of a benchmark: ${problems.slice(0, 5).join('; ')}`)
    this.problems = problems
  }
}

export async function readArtifacts(folder: string): Promise<Artifacts> {
  const problems: string[] = []
  const json = async (name: string, schema: SchemaName): Promise<unknown> => {
    const value = parse(name, await textOf(folder, name, problems), problems)
    if (value !== undefined)
      problems.push(...problemsIn(schema, value).map((one) => `${name}: ${one}`))
    return value
  }
  const environment = await json('env.json', 'environment')
  const plan = await json('plan.json', 'plan')
  const parity = await json('parity.json', 'parity')
  const outcome = await json('outcome.json', 'outcome')
  const runs = linesOf('runs.ndjson', await textOf(folder, 'runs.ndjson', problems), problems)
  for (const [index, run] of runs.entries()) {
    problems.push(...problemsIn('run', run).map((one) => `runs.ndjson, line ${index + 1}: ${one}`))
  }
  const series = await readSeries(folder, problems)
  if (problems.length > 0) throw new ArtifactError(folder, problems)
  return {
    environment: environment as Environment,
    plan: plan as Plan,
    parity: parity as Parity,
    outcome: outcome as SessionOutcome,
    runs: runs as RunRecord[],
    series,
  }
}

async function readSeries(folder: string, problems: string[]): Promise<Series[]> {
  const names = await readdir(join(folder, 'series')).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return [] as string[]
  })
  const series: Series[] = []
  for (const name of names.toSorted()) {
    const parts = /^(.+)\.([^.]+)\.(\d+)(\.again)?\.ndjson$/.exec(name)
    if (parts === null) continue
    const [, proxy = '', scenario = '', round = '0', again] = parts
    const rows = linesOf(name, await textOf(folder, join('series', name), problems), problems)
    for (const [index, row] of rows.entries()) {
      problems.push(...problemsIn('row', row).map((one) => `${name}, line ${index + 1}: ${one}`))
    }
    const role = proxy === 'direct' ? 'direct' : again === undefined ? 'measured' : 'again'
    series.push({ proxy, scenario, round: Number(round), role, rows: rows as SeriesRow[] })
  }
  return series
}

async function textOf(folder: string, name: string, problems: string[]): Promise<string> {
  try {
    return await readFile(join(folder, name), 'utf8')
  } catch (error) {
    problems.push(`${name}: ${(error as Error).message}`)
    return ''
  }
}

function linesOf(name: string, text: string, problems: string[]): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line, index) => parse(`${name}, line ${index + 1}`, line, problems))
    .filter((value) => value !== undefined)
}

function parse(name: string, text: string, problems: string[]): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    problems.push(`${name}: ${(error as Error).message}`)
    return undefined
  }
}
