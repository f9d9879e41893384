/** The nodes that the harness sees, and the options that tell it what each of them is configured to do. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, freePorts } from '../harness/ports.ts'
import type { Scope } from '../harness/scope.ts'
import { StaticNode, type StaticNodeOptions, staticCommand } from '../harness/static-node.ts'
import type { Issued } from '../harness/test-ca.ts'
import {
  CONNECT_MS,
  catchAll,
  checkedRoutes,
  entryPoints,
  HEALTH,
  POOL,
  type Ports,
  point,
  poolDocuments,
  QUEUE_MS,
  RESPONSE_MS,
  SLOW_START,
  specialRoutes,
  TRUSTED,
  usualRoutes,
} from './configuration.ts'

/** Long enough for a client that reads on after a pause, short enough to be waited for. */
const WRITE_IDLE_MS = 6_000
/** A head is due before an idle connection is. */
const SHORT = { headMs: 1_900, handshakeMs: 1_900, idleMs: 2_000, bodyMs: 2_000, sendMs: 2_000 }
const SHORT_LIMITS = {
  'head-timeout-ms': SHORT.headMs,
  'handshake-timeout-ms': SHORT.handshakeMs,
  'client-idle-timeout-ms': SHORT.idleMs,
  'body-idle-timeout-ms': SHORT.bodyMs,
}
/**
 * What a fresh worker grows by, whatever connects (bench/FINDINGS.md), over the 800 TLS connections that the
 * harness counts.
 */
const FRESH_KIB = 8_192 / 800
/** What data-plane/README.md says of idle connections, whatever they have carried before. */
const BUDGET_KIB = { tls: 64 + FRESH_KIB, ws: 20 }
const POOL_IDLE_MS = 2_000
const DESCRIPTORS_MAX = 256
const DRAIN_SECONDS = 5
/** How often it is asked whether it drains. */
const DRAIN_TURNS = 100
const HEAD_BYTES_MAX = 32_768

export interface Setting {
  readonly scope: Scope
  readonly base: number
  readonly certificate: Issued
}

async function twoPorts(): Promise<Ports> {
  const [http = 0, https = 0] = await freePorts(2)
  return { http, https }
}

/** A node with nothing but its defaults. */
export async function startPlain({ scope, base, certificate }: Setting): Promise<Ports> {
  const ports = await twoPorts()
  const documents = [...entryPoints(ports, certificate), ...usualRoutes(base)]
  await StaticNode.start(scope, { name: 'with defaults', documents })
  return ports
}

/** The nodes for all cases that ours can be configured for. */
export async function startConfigured(
  setting: Setting,
): Promise<Ports & { readonly options: object }> {
  const { scope, base, certificate } = setting
  const ports = await twoPorts()
  const resolver = await freePort()
  const main = await StaticNode.start(scope, {
    name: 'with options',
    documents: [...entryPoints(ports, certificate), ...usualRoutes(base), ...specialRoutes(base)],
    limits: { 'body-idle-timeout-ms': WRITE_IDLE_MS, 'head-bytes-max': HEAD_BYTES_MAX },
    words: ['--dns-server', `127.0.0.1:${resolver}`],
  })
  const short = await startShort(setting)
  const pool = await startPool(setting)
  const options = {
    ...serviceOptions(base, resolver),
    responseHeaderLimit: HEAD_BYTES_MAX,
    trusted: { source: TRUSTED },
    pids: [main.process.pid],
    writeIdle: { ms: WRITE_IDLE_MS },
    timeouts: { ...short.ports, ...SHORT },
    pool: pool.option,
    process: { pids: familyCommand([main, short.node, pool.node]), budgetKiB: BUDGET_KIB },
    fds: await descriptorsOption(setting),
    drain: await drainOption(setting),
    observe: observeOption(short.ports, short.node),
  }
  return { ...ports, options }
}

/** A node that probes the servers of its services. */
export async function startChecked({
  scope,
  base,
  certificate,
}: Setting): Promise<Ports & { readonly options: object }> {
  const ports = await twoPorts()
  const documents = [
    ...entryPoints(ports, certificate),
    ...usualRoutes(base),
    ...checkedRoutes(base),
  ]
  await StaticNode.start(scope, { name: 'with health checks', documents })
  const slowStart = { host: 'ss.test', ...SLOW_START }
  return { ...ports, options: { health: healthOption(base), slowStart } }
}

function serviceOptions(base: number, resolver: number): object {
  return {
    responseTimeout: { host: 'rt.test', ms: RESPONSE_MS },
    leastconn: { host: 'lc.test', queueMs: QUEUE_MS },
    three: { host: 'three.test' },
    passHostOff: { host: 'nohost.test' },
    paths: { host: 'p.test' },
    hole: { host: 'hole.test', half: 'half.test', port: base + 7, connectMs: CONNECT_MS },
    ipv6: { host: 'v6.test', port: base + 8 },
    dns: { host: 'dns.test', name: 'svc.test', resolver, port: base + 5, refreshMs: 1_000 },
    dual: { host: 'dual.test', name: 'dual.svc.test', port: base + 6 },
  }
}

function healthOption(base: number): object {
  const hosts = { ok: 'hcok.test', bad: 'hcbad.test', three: 'hc3.test', four: 'hc4.test' }
  return { host: 'hc.test', ...hosts, port: base + 9, ...HEALTH }
}

/** A node whose time-outs are short. */
async function startShort({ scope, base, certificate }: Setting) {
  const ports = await twoPorts()
  const documents = [...entryPoints(ports, certificate), ...usualRoutes(base)]
  const node = await StaticNode.start(scope, {
    name: 'in a hurry',
    documents,
    limits: SHORT_LIMITS,
  })
  return { ports, node }
}

async function startPool({ scope, base }: Setting) {
  const [port = 0, noKeepalive = 0] = await freePorts(2)
  const node = await StaticNode.start(scope, {
    name: 'with few connections',
    documents: poolDocuments(base, port, noKeepalive),
    limits: { 'upstream-idle-timeout-ms': POOL_IDLE_MS },
  })
  const { connections, idle } = POOL
  return { node, option: { port, noKeepalive, cap: connections, idle, idleMs: POOL_IDLE_MS } }
}

/** The harness starts this one itself, in a shell. */
async function descriptorsOption({ scope, base }: Setting): Promise<object> {
  const port = await freePort()
  const documents = catchAll(base, point('web', port, { protocol: 'http' }))
  const { command } = await shellCommand(scope, { documents })
  const start = `ulimit -n ${DESCRIPTORS_MAX}; exec ${command}`
  return { start, port, limit: DESCRIPTORS_MAX }
}

/** And this one, which it also stops. */
async function drainOption({ scope, base, certificate }: Setting): Promise<object> {
  const ports = await twoPorts()
  const documents = [...entryPoints(ports, certificate), ...usualRoutes(base)]
  const words = ['--drain-grace', String(DRAIN_SECONDS)]
  const folder = await scope.temporaryDirectory()
  const pidFile = join(folder, 'pid')
  const { command, statusPort } = await shellCommand(scope, { documents, words })
  const ready = `http://127.0.0.1:${statusPort}/readyz`
  scope.defer(() => endByFile(pidFile))
  return {
    ...ports,
    start: `${command} >${join(folder, 'log')} 2>&1 & echo $! >${pidFile}`,
    // What the node answers before it has handled the signal is no answer of a drain.
    stop: `kill -TERM $(cat ${pidFile}); for turn in $(seq ${DRAIN_TURNS}); do curl -sf -o /dev/null ${ready} || exit 0; sleep 0.02; done; exit 1`,
    deadlineMs: DRAIN_SECONDS * 1_000,
    stays: false,
  }
}

/** Counters only: access log lines go to a control plane. */
function observeOption(ports: Ports, node: StaticNode): object {
  return {
    ...ports,
    log: 'true',
    metrics: `curl -s http://127.0.0.1:${node.statusPort}/metrics`,
    counter: 'sluice_node_exchanges_ended_total',
    gauge: 'sluice_node_connections_open',
    gaugeRest: 0,
    settleMs: 2_500,
    reload: `kill -HUP ${node.process.pid}`,
  }
}

async function shellCommand(scope: Scope, options: StaticNodeOptions) {
  const { words, statusPort } = await staticCommand(scope, options)
  const command = [process.execPath, ...words].map((word) => `'${word}'`).join(' ')
  return { command, statusPort }
}

/** A shell command that prints the process ids of nodes and their workers. */
function familyCommand(nodes: readonly StaticNode[]): string {
  const pids = nodes.map(({ process: { pid } }) => `echo ${pid}; cat /proc/${pid}/task/*/children`)
  return pids.join('; ')
}

/** What the harness left running when a case was cut short. */
async function endByFile(pidFile: string): Promise<void> {
  const text = await readFile(pidFile, 'utf8').catch(() => '')
  if (text === '') return
  try {
    process.kill(Number(text), 'SIGTERM')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
