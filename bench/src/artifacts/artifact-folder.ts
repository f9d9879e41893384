/**
 * The folder of one session. Each file is written whole and renamed into place after every run, so that whatever
 * ends the session leaves a record that can be read. Nothing here knows what the figures mean.
 */
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Environment, Parity, Plan, RunRecord, Series, SessionOutcome } from './records.ts'

export class ArtifactFolder {
  readonly path: string
  readonly #runs: RunRecord[] = []

  constructor(path: string) {
    this.path = path
  }

  async create(environment: Environment, plan: Plan): Promise<void> {
    for (const folder of ['series', 'raw'])
      await mkdir(join(this.path, folder), { recursive: true })
    await this.writeEnvironment(environment)
    await this.writePlan(plan)
    await this.writeParity({ schema: 1, proxies: [] })
    await this.#write('runs.ndjson', '')
    await this.writeOutcome({ schema: 1, end: 'running', finishedAtMs: Date.now(), failures: [] })
  }

  get runs(): readonly RunRecord[] {
    return this.#runs
  }

  async writeEnvironment(environment: Environment): Promise<void> {
    await this.#writeJson('env.json', environment)
  }

  async writePlan(plan: Plan): Promise<void> {
    await this.#writeJson('plan.json', plan)
  }

  async writeParity(parity: Parity): Promise<void> {
    await this.#writeJson('parity.json', parity)
  }

  async writeOutcome(outcome: SessionOutcome): Promise<void> {
    await this.#writeJson('outcome.json', outcome)
  }

  async addRun(run: RunRecord): Promise<void> {
    this.#runs.push(run)
    await this.#write('runs.ndjson', this.#runs.map((one) => `${JSON.stringify(one)}\n`).join(''))
  }

  async writeSeries({ proxy, scenario, round, role, rows }: Series): Promise<void> {
    const suffix = role === 'again' ? '.again' : ''
    const name = `${proxy}.${scenario}.${round}${suffix}.ndjson`
    await this.#write(join('series', name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  }

  /** What a tool printed, as it was. */
  async writeRaw(name: string, text: string): Promise<void> {
    await this.#write(join('raw', name), text)
  }

  async writeText(name: string, text: string): Promise<void> {
    await this.#write(name, text)
  }

  async #writeJson(name: string, value: unknown): Promise<void> {
    await this.#write(name, `${JSON.stringify(value, null, 2)}\n`)
  }

  async #write(name: string, text: string): Promise<void> {
    await writeWhole(join(this.path, name), text)
  }
}

/** Never half of a file: written beside its place, flushed, renamed. */
export async function writeWhole(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const beside = `${path}.${process.pid}.part`
  try {
    await using file = await open(beside, 'w')
    await file.writeFile(text)
    await file.sync()
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}
