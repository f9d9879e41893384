/**
 * Runs an independent conformance harness, which is no part of this repository, against real nodes: once with
 * their defaults, once with options for all that they can be configured to do. Prints what does not pass.
 *
 *   npm run conformance -- --harness DIR [--only A01,B] [--run defaults|options] [--json FOLDER]
 */
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { arePortsFree } from '../harness/ports.ts'
import { Scope } from '../harness/scope.ts'
import { TestCa } from '../harness/test-ca.ts'
import { type Setting, startChecked, startConfigured, startPlain } from './nodes.ts'

const RUN_MS = 20 * 60_000
/** The ports of a base that the harness listens on. */
const BASE_PORTS = 13
const BASE_FIRST = 10_000
const BASE_LAST = 19_000
/** Cases about log lines are left out: those lines go to a control plane, not to a file. */
const CONFIGURABLE = 'A,B,C,D,E,F,H,I05,I06'
/** Cases whose origins are asked by the node itself. */
const PROBING = ['C07', 'C08', 'C09']

interface SubCase {
  readonly sub: string
  readonly ok: boolean
  readonly note?: string
}

interface CaseResult {
  readonly id: string
  readonly title: string
  readonly ok?: boolean
  readonly skipped?: string
  readonly subs?: readonly SubCase[]
}

interface Wishes {
  readonly harness: string
  readonly only: string | undefined
  readonly run: string | undefined
  readonly json: string | undefined
}

function readWishes(): Wishes {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { harness: text, only: text, run: text, json: text } })
  const { harness, only, run, json } = values
  if (harness === undefined) throw new Error('--harness DIR: the folder that has run.mjs')
  if (run !== undefined && run !== 'defaults' && run !== 'options') {
    throw new Error(`--run is defaults or options, not ${run}`)
  }
  return { harness, only, run, json }
}

async function freeBase(): Promise<number> {
  for (;;) {
    const base = randomInt(BASE_FIRST, BASE_LAST)
    const ports = Array.from({ length: BASE_PORTS }, (_, index) => base + 1 + index)
    if (await arePortsFree(ports)) return base
  }
}

async function runHarness(
  words: readonly string[],
  label: string,
  folder: string,
): Promise<CaseResult[]> {
  const file = join(folder, `${label}.json`)
  const child = spawn(process.execPath, [...words, '--label', label, '--json', file], {
    stdio: 'inherit',
    timeout: RUN_MS,
  })
  await once(child, 'close')
  return JSON.parse(await readFile(file, 'utf8'))
}

function summary(label: string, results: readonly CaseResult[]): string {
  const ran = results.filter(({ skipped }) => skipped === undefined)
  const failed = ran.filter(({ ok }) => ok !== true)
  const subs = ran.flatMap((one) => one.subs ?? [])
  const lines = failed.flatMap(({ id, subs: all = [] }) =>
    all.filter(({ ok }) => !ok).map(({ sub, note = '' }) => `  ${id} ${sub}: ${firstLine(note)}`),
  )
  const cases = `${ran.length - failed.length} of ${ran.length} cases`
  const parts = `${subs.filter(({ ok }) => ok).length} of ${subs.length} sub-cases pass`
  return [`${label}: ${cases}, ${parts}`, ...lines].join('\n')
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}

/** Those of the wished cases whose origins the node asks by itself. */
function probingOf({ only }: Wishes): string {
  const wished = only?.split(',') ?? ['']
  return PROBING.filter((id) => wished.some((prefix) => id.startsWith(prefix))).join(',')
}

async function run(scope: Scope, wishes: Wishes): Promise<void> {
  const ca = await TestCa.create()
  const hosts = ['a.test', 'b.test', '*.test']
  const setting: Setting = { scope, base: await freeBase(), certificate: await ca.issue({ hosts }) }
  const folder = wishes.json ?? (await scope.temporaryDirectory())
  const summaries: string[] = []
  const words = (ports: { http: number; https: number }, only: string | undefined) => [
    join(wishes.harness, 'run.mjs'),
    ...['--http', String(ports.http), '--https', String(ports.https)],
    ...['--base', String(setting.base)],
    ...(only === undefined ? [] : ['--only', only]),
  ]
  if (wishes.run !== 'options') {
    const ports = await startPlain(setting)
    const results = await runHarness(words(ports, wishes.only), 'defaults', folder)
    summaries.push(summary('defaults', results))
  }
  if (wishes.run !== 'defaults') {
    const runs = [
      ['options', startConfigured, wishes.only ?? CONFIGURABLE],
      ['health checks', startChecked, probingOf(wishes)],
    ] as const
    for (const [label, start, only] of runs) {
      if (only === '') continue
      const nodes = new Scope()
      scope.defer(() => nodes.close())
      const { options, ...ports } = await start({ ...setting, scope: nodes })
      const file = join(await scope.temporaryDirectory(), 'options.json')
      await writeFile(file, JSON.stringify(options))
      const all = [...words(ports, only), '--options', file]
      summaries.push(summary(label, await runHarness(all, label.replaceAll(' ', '-'), folder)))
      await nodes.close()
    }
  }
  process.stdout.write(`\n${summaries.join('\n')}\n`)
}

const scope = new Scope()
try {
  await run(scope, readWishes())
} catch (error) {
  process.stderr.write(`${scope.logs()}\n`)
  throw error
} finally {
  await scope.close()
}
