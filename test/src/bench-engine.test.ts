/** That `npm run bench:engine` still runs. What it measures in a second, beside other tests, means nothing. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const BENCH = fileURLToPath(new URL('../../bench/src/engine.ts', import.meta.url))
const NEEDED = ['nginx', 'haproxy', 'wrk', 'openssl', 'taskset', 'chrt']
const RUN_MS = 120_000

const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
const missing = NEEDED.filter((name) => !folders.some((folder) => existsSync(join(folder, name))))
const reason = missing.length === 0 ? '' : ` (skipped: no ${missing.join(', ')} on this machine)`

it.skipIf(missing.length > 0)(
  `the benchmark of the engine prints its table and writes its record${reason}`,
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-test-'))
    try {
      const file = join(directory, 'figures.json')
      const flags = ['--rounds', '1', '--seconds', '1', '--only', 'http1k,steady5k', '--json', file]
      const table = await tableOf(flags)
      expect(table).toContain('HTTP keep-alive, 1 KiB')
      expect(table).toContain('HTTP, 1 KiB, steady 5,000/s')
      const record = JSON.parse(await readFile(file, 'utf8'))
      expect(Object.keys(record)).toEqual(['http1k', 'steady5k', 'machine'])
      const figures = {
        ratio: expect.any(Number),
        min: expect.any(Number),
        max: expect.any(Number),
        ourCpuUs: expect.any(Number),
        nginxCpuUs: expect.any(Number),
        noisy: expect.any(Boolean),
        haproxyRatio: expect.any(Number),
      }
      expect(record.http1k).toMatchObject(figures)
      expect(record.steady5k).toMatchObject({ ...figures, p99Ratio: expect.any(Number) })
      expect(record.machine.versions).toMatchObject({
        node: process.version,
        nginx: expect.any(String),
        haproxy: expect.any(String),
        wrk: expect.any(String),
      })
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  },
  RUN_MS + 10_000,
)

/** Exit code 1 says that a bound was missed, which is no failure here. */
async function tableOf(flags: readonly string[]): Promise<string> {
  try {
    return (await run(process.execPath, [BENCH, ...flags], { timeout: RUN_MS })).stdout
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout: string; stderr: string }
    if (code === 1) return stdout
    throw new Error(`exit code ${code}: ${stderr}`, { cause: error })
  }
}
