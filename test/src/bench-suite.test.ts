/** That `npm run bench -- run quick` still measures, records and renders. Its figures, beside other tests, mean nothing. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

const run = promisify(execFile)
const BENCH = fileURLToPath(new URL('../../bench/src/main.ts', import.meta.url))
const NEEDED = ['nginx', 'wrk', 'openssl', 'taskset', 'ss']
const RUN_MS = 240_000

const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
const missing = NEEDED.filter((name) => !folders.some((folder) => existsSync(join(folder, name))))
const reason = missing.length === 0 ? '' : ` (skipped: no ${missing.join(', ')} on this machine)`

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Exit codes 3 and 4 say that figures are not to be used, which is no failure here. */
async function bench(...args: readonly string[]): Promise<Ended> {
  try {
    const { stdout, stderr } = await run(process.execPath, [BENCH, ...args], { timeout: RUN_MS })
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string }
    if (typeof code !== 'number') throw error
    return { code, stdout, stderr }
  }
}

async function runsOf(folder: string): Promise<{ scenario: string; role: string }[]> {
  const text = await readFile(join(folder, 'runs.ndjson'), 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

describe.skipIf(missing.length > 0)(`the benchmark suite${reason}`, () => {
  let directory: string
  let record: string
  let ended: Ended

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'sluice-bench-suite-'))
    record = join(directory, 'record')
    ended = await bench(
      ...[
        'run',
        'quick',
        '--proxies',
        'self,nginx',
        '--with-control-plane',
        '--scenarios',
        'http1k,steady',
      ],
      ...['--rounds', '1', '--duration', '1s', '--warmup', '0.2s', '--rate', '500'],
      // What other tests disturb is not repeated here.
      ...['--attempts', '1', '--budget', '200s', '--out', record],
    )
  }, RUN_MS)

  afterAll(async () => {
    await rm(directory, { recursive: true, force: true })
  })

  it('measures our node alone and in a fleet, the reference and the origin alone, and writes one line for each run', async () => {
    expect([0, 3, 4], ended.stderr).toContain(ended.code)
    const lines = (await readFile(join(record, 'runs.ndjson'), 'utf8')).trim().split('\n')
    const runs = lines.map((line) => JSON.parse(line))
    const names = new Set(runs.map(({ proxy, scenario, role }) => `${proxy} ${scenario} ${role}`))
    expect([...names].toSorted()).toEqual([
      'direct http1k direct',
      'direct steady direct',
      'nginx http1k again',
      'nginx http1k measured',
      'nginx steady again',
      'nginx steady measured',
      'self http1k measured',
      'self steady measured',
      'self-fleet http1k measured',
      'self-fleet steady measured',
    ])
    expect(runs.every(({ ok }) => ok > 0)).toBe(true)
    expect(runs.every(({ witness }) => witness.length === 0)).toBe(true)
  })

  it('prints the difference that a control plane makes', () => {
    expect(ended.stdout).toMatch(/^ +self +self-fleet +change/m)
    expect(ended.stdout).toMatch(/^ http1k, requests per second +[\d,]+ +[\d,]+ /m)
  })

  it('says its plan before it starts', () => {
    expect(ended.stderr).toMatch(
      /^3 proxies, 1 round of http1k 1 s, steady 1 s: about [\d.]+ min, at most 3\.3 min$/m,
    )
  })

  it('keeps what was measured when it is interrupted', async () => {
    const out = join(directory, 'interrupted')
    const child = execFile(process.execPath, [
      ...[BENCH, 'run', 'quick', '--proxies', 'nginx', '--duration', '1s', '--rounds', '50'],
      ...['--attempts', '1', '--out', out],
    ])
    const closed = once(child, 'close')
    await vi.waitFor(async () => expect((await runsOf(out)).length).toBeGreaterThan(1), {
      timeout: RUN_MS / 2,
      interval: 100,
    })
    child.kill('SIGINT')
    expect((await closed)[0]).toBe(4)
    const outcome = JSON.parse(await readFile(join(out, 'outcome.json'), 'utf8'))
    expect(outcome.end).toBe('interrupted')
    expect(await readFile(join(out, 'report.md'), 'utf8')).toContain('nginx')
  })

  it('renders the terminal table, a page and the tables of a published page from the record alone', async () => {
    expect(ended.stdout).toContain('HTTP 1 KiB')
    expect(await readFile(join(record, 'report.html'), 'utf8')).toContain('<svg viewBox="0 0 720')
    const { code, stdout } = await bench('report', record, '--like', 'dnz')
    expect(code).toBe(0)
    expect(stdout).toContain('| Proxy | HTTP, 1 KiB |')
  })

  it('checks its record with all 28 tests', async () => {
    const { stdout } = await bench('check', record)
    expect(stdout.match(/^ ?\d+ (?:ok|FAILED|\d+ noted)/gm)).toHaveLength(28)
  })

  it('compares a record with itself as a tie', async () => {
    const { code, stdout } = await bench('compare', record, record)
    expect(code).toBe(0)
    expect(stdout).toMatch(/self, http1k .*~ same/)
  })

  it.each([
    [['run', 'dns'], 'no suite is called dns'],
    [['run', 'quick', '--proxies', 'apache'], 'no proxy is called apache'],
    [['run', 'quick', '--rounds', 'many'], 'a whole number from 1 is needed'],
    [['run', 'quick', '--scenarios', 'http2'], 'no scenario is called http2'],
  ])('ends %j with exit code 2 and one line', async (args, text) => {
    const { code, stderr } = await bench(...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)])
  })

  it('says in one line that a CPU is not there, before anything is measured', async () => {
    const { code, stderr } = await bench(
      'run',
      'quick',
      '--proxy-cpus',
      '4096',
      '--out',
      join(directory, 'none'),
    )
    expect([code, stderr]).toEqual([1, expect.stringContaining('CPU 4096 is not among those')])
    expect(existsSync(join(directory, 'none'))).toBe(false)
  })
})
