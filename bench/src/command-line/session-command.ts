/** `run` and `ab`: options become a session, and its report an exit code. */
import { existsSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { allPeers, peerNamed } from '../peers/all-peers.ts'
import type { Peer } from '../peers/peer.ts'
import { selfPeer } from '../peers/self.ts'
import { PAGES, type PageName, renderMarkdown } from '../report/markdown.ts'
import { renderTerminal } from '../report/terminal.ts'
import { defaultProcessors, preflight } from '../rounds/preflight.ts'
import { startSession } from '../rounds/start-session.ts'
import { ab, type RunnableSuite, SUITES } from '../suites/all-suites.ts'
import { type Suite, type SuiteOptions, UsageError } from '../suites/suite.ts'
import { EXIT, judge } from './exit-code.ts'
import {
  type Gates,
  readCount,
  readDuration,
  readGates,
  readList,
  readNumber,
  readProcessors,
  readShare,
} from './values.ts'

const RESULTS = fileURLToPath(new URL('../../results/', import.meta.url))
const RATE_CONNECTIONS = 50
const ATTEMPTS = 3

interface SessionOptions {
  readonly proxies?: string[]
  readonly reference?: string
  readonly scenarios?: string[]
  readonly rounds?: number
  readonly duration?: number
  readonly warmup?: number
  readonly connections?: number
  readonly rate?: number
  readonly rateConnections?: number
  readonly pace: 'tick' | 'wait' | 'spin'
  readonly proxyCpus?: string
  readonly loadCpus?: string
  readonly deadline?: number
  readonly timeout?: number
  readonly seed: number
  readonly budget?: number
  readonly attempts: number
  readonly out?: string
  readonly maxErrorRate: number
  readonly sloP99?: number
  readonly failOn?: Gates
  readonly withControlPlane?: boolean
  readonly like?: PageName
  readonly json?: boolean
  readonly stock?: boolean
}

export function addSessionOptions(command: Command): Command {
  const seconds = (text: string) => readDuration(text) / 1_000
  return command
    .option('--scenarios <list>', 'only these scenarios of the suite', readList)
    .option('--rounds <n>', 'rounds of each scenario, at most', readCount)
    .option('--duration <time>', 'of each run; by default what fits into the budget', seconds)
    .option('--warmup <time>', 'before each run', seconds)
    .option(
      '--connections <n>',
      'of capacity runs and ramps; of the sweep its last step',
      readCount,
    )
    .option('--rate <n>', 'requests per second of the steady load', readNumber)
    .option('--rate-connections <n>', `of the steady load (dnz: ${RATE_CONNECTIONS})`, readCount)
    .option('--pace <kind>', 'how the generator waits: tick, wait or spin', readPace, 'tick')
    .option('--proxy-cpus <list>', "the proxies' own CPUs; by default the first", readProcessors)
    .option(
      '--load-cpus <list>',
      'of origin, load and harness; by default the others',
      readProcessors,
    )
    .option('--deadline <time>', 'requests that are later are not sent; 0: none', readDuration)
    .option('--timeout <time>', 'for an answer', readDuration)
    .option('--seed <n>', 'of everything that is random', readNumber, 1)
    .option('--attempts <n>', 'at a run that other programs disturb', readCount, ATTEMPTS)
    .option('--budget <time>', 'for the whole session', seconds)
    .option('--out <dir>', 'where the record goes; by default bench/results/<run>')
    .option('--max-error-rate <share>', 'of failed requests that needs no note', readShare, 0.0001)
    .option('--slo-p99 <time>', 'exit code 3 if ours is slower at the steady rate', readDuration)
    .option('--fail-on <list>', 'exit code 3 for noisy, tie, regression=5%', readGates)
    .option('--like <page>', `print the tables of a page: ${PAGES.join(', ')}`, readPage)
    .option('--json', 'print report.json and nothing else')
}

export function addRunOptions(command: Command): Command {
  return addSessionOptions(command)
    .option('--proxies <list>', `of ${allPeers.map(({ name }) => name).join(', ')}`, readList)
    .option('--reference <name>', 'what ratios refer to, measured twice in each round (nginx)')
    .option(
      '--with-control-plane',
      'measure our node under a control plane too, and the difference',
    )
    .option(
      '--stock',
      'every proxy with its own defaults, without what its template sets beyond them',
    )
}

function readPace(text: string): string {
  if (!['tick', 'wait', 'spin'].includes(text)) throw new UsageError('--pace: tick, wait or spin')
  return text
}

export function readPage(text: string): PageName {
  const page = PAGES.find((name) => name === text)
  if (page === undefined) throw new UsageError(`--like: one of ${PAGES.join(', ')}`)
  return page
}

export async function runSuite(name: string, options: SessionOptions): Promise<number> {
  const suite = SUITES[name as RunnableSuite]
  if (suite === undefined) {
    throw new UsageError(`no suite is called ${name}; there are ${Object.keys(SUITES).join(', ')}`)
  }
  const names = [...new Set(options.proxies ?? suite.proxies)]
  if (options.withControlPlane === true && !names.includes('self-fleet')) {
    names.splice(names.indexOf('self') + 1, 0, 'self-fleet')
  }
  const known = new Set(allPeers.map((peer) => peer.name))
  const unknown = names.filter((one) => !known.has(one))
  if (unknown.length > 0) {
    throw new UsageError(
      `no proxy is called ${unknown.join(', ')}; there are ${[...known].join(', ')}`,
    )
  }
  const reference = options.reference ?? (names.includes('nginx') ? 'nginx' : (names[0] ?? ''))
  if (!names.includes(reference))
    throw new UsageError(`the reference ${reference} is not among --proxies`)
  const subject = names.includes('self')
    ? 'self'
    : (names.find((one) => one !== reference) ?? reference)
  return measure({ suite, peers: names.map(peerNamed), reference, subject }, options)
}

/** Each of the two is the name of a proxy, or the folder of a checkout of ours with dist/ built. */
export async function runPair(
  left: string,
  right: string,
  options: SessionOptions,
): Promise<number> {
  const peers = [sideOf('old', left), sideOf('new', right)]
  return measure({ suite: ab, peers, reference: 'old', subject: 'new' }, options)
}

function sideOf(name: 'old' | 'new', what: string): Peer {
  const folder = resolve(what)
  if (existsSync(join(folder, 'data-plane', 'dist', 'main.js'))) {
    return selfPeer({ name, title: name, withControlPlane: false, root: folder })
  }
  const known = allPeers.find((peer) => peer.name === what)
  if (known === undefined) {
    throw new UsageError(
      `${what} is neither a proxy that is known nor a checkout with data-plane/dist built`,
    )
  }
  return { ...known, name, title: `${name}: ${known.title}` }
}

interface Contest {
  readonly suite: Suite
  readonly peers: readonly Peer[]
  readonly reference: string
  readonly subject: string
}

async function measure(contest: Contest, options: SessionOptions): Promise<number> {
  const suiteOptions = suiteOptionsOf(options)
  const fallback = defaultProcessors()
  const proxy = options.proxyCpus ?? fallback?.proxy
  const load = options.loadCpus ?? fallback?.load
  const processors = proxy === undefined || load === undefined ? undefined : { proxy, load }
  const problems = await preflight(processors, contest.suite.scenarios(suiteOptions))
  if (processors === undefined || problems.length > 0) {
    for (const problem of problems) process.stderr.write(`${problem}\n`)
    return EXIT.error
  }
  const interrupted = new AbortController()
  const stop = () => interrupted.abort()
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const report = await startSession({
    ...contest,
    options: suiteOptions,
    processors,
    pace: options.pace,
    seed: options.seed,
    budgetSeconds: options.budget ?? contest.suite.budgetSeconds,
    attemptsMax: options.attempts,
    out: folderOf(options.out, contest.suite.name),
    maxErrorRate: options.maxErrorRate,
    ...(options.sloP99 === undefined ? {} : { sloP99Us: options.sloP99 * 1_000 }),
    isStock: options.stock === true,
    command: ['npm', 'run', 'bench', '--', ...process.argv.slice(2)],
    signal: interrupted.signal,
  })
  process.off('SIGINT', stop).off('SIGTERM', stop)
  process.stdout.write(outputOf(report, options))
  const { code, reasons } = judge(report, options.failOn)
  for (const reason of reasons) process.stderr.write(`${reason}\n`)
  process.stderr.write(`record: ${folderOf(options.out, report.runId)}\n`)
  return interrupted.signal.aborted && code === EXIT.ok ? EXIT.inconclusive : code
}

function suiteOptionsOf({
  scenarios,
  rounds,
  duration,
  warmup,
  connections,
  rate,
  rateConnections,
  deadline,
  timeout,
}: SessionOptions): SuiteOptions {
  const given = {
    scenarios,
    rounds,
    duration,
    warmup,
    connections,
    rate,
    rateConnections,
    deadlineMs: deadline,
    timeoutMs: timeout,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** By date and suite, as people look for it. */
function folderOf(out: string | undefined, name: string): string {
  if (out !== undefined) return isAbsolute(out) ? out : resolve(out)
  const isRunId = /^\d{8}-\d{6}-/.test(name)
  const time = new Date().toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15)
  return join(RESULTS, isRunId ? name : `${time}-${name}`)
}

function outputOf(
  report: Parameters<typeof renderTerminal>[0],
  { json, like }: SessionOptions,
): string {
  if (json === true) return `${JSON.stringify(report, null, 2)}\n`
  return like === undefined ? renderTerminal(report) : renderMarkdown(report, like)
}
