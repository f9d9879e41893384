/** That `npm run bench:fleet` still runs, and that nothing is lost or wrong in a small fleet. Its times mean nothing here. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const BENCH = fileURLToPath(new URL('../../bench/src/fleet.ts', import.meta.url))
const RUN_MS = 120_000

it(
  'twenty simulated nodes get small deltas, come back after a kill of the control plane, and lose no count',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-test-'))
    try {
      const file = join(directory, 'figures.json')
      const size = ['--nodes', '20', '--routers', '200', '--changes', '3', '--seconds', '2']
      const table = await tableOf([...size, '--json', file])
      expect(table).toContain('20 nodes, 200 routers')
      const { figures } = JSON.parse(await readFile(file, 'utf8'))
      expect(figures).toMatchObject({
        telemetryLost: 0,
        fullUpdates: 0,
        changeP99Seconds: expect.any(Number),
        restartSeconds: expect.any(Number),
        coldStartSeconds: expect.any(Number),
      })
      expect(figures.changeBytes).toBeLessThan(2_048)
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
