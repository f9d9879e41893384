/**
 * Asks a peer a few requests between a capturing origin and a client of ours, and writes down what it made of them.
 * Runs without load and takes some seconds; the peer is started twice, the second time with a log file.
 */
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, Agent as TlsAgent } from 'node:https'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { backlogOf } from '../machine/listeners.ts'
import { usageOf } from '../machine/process-tree.ts'
import { freePort } from '../programs.ts'
import { probeTls } from '../tls-probe.ts'
import { ANSWER_FIELDS, CapturingOrigin, type Field, pairs } from './capturing-origin.ts'
import { sha256Of } from './find-program.ts'
import { type CapturedExchange, differencesOf, type ParityRecord } from './parity.ts'
import type { Found, Peer, PeerSetting, RunningPeer } from './peer.ts'

const REUSE_REQUESTS = 1_000
const REUSE_CONNECTIONS = 8
const LOGGED_REQUESTS = 20
const LOG_MARK = '/parity-logged'
const ANSWER_MS = 10_000

export interface ParitySetting {
  /** For the configurations and logs of all peers. */
  readonly folder: string
  readonly processors: string
  readonly certificateFile: string
  readonly keyFile: string
  readonly hosts: readonly string[]
  /** How long to look for requests that the proxy makes by itself. */
  readonly idleMs: number
  /** As in PeerSetting. */
  readonly isStock?: boolean
}

type Measured = Omit<ParityRecord, 'differences'>

/** One record for each peer, in their order; the differences are to the one named, where it is among them. */
export async function probeParity(
  peers: readonly Peer[],
  setting: ParitySetting,
  referenceName: string,
): Promise<ParityRecord[]> {
  const measured: Measured[] = []
  for (const peer of peers) {
    const found = await peer.find()
    if (found.kind === 'found') measured.push(await probePeer(peer, found, setting))
  }
  const reference = measured.find(({ peer }) => peer === referenceName)
  return measured.map((record) => ({ ...record, differences: differencesOf(record, reference) }))
}

async function probePeer(
  peer: Peer,
  found: Extract<Found, { kind: 'found' }>,
  setting: ParitySetting,
): Promise<Measured> {
  const origin = await CapturingOrigin.open()
  try {
    const running = await peer.start(await placeOf(peer, setting, origin))
    let observed: Awaited<ReturnType<typeof observe>>
    try {
      observed = await observe(running, origin, setting)
    } finally {
      await running.stop()
    }
    return {
      peer: peer.name,
      version: found.version,
      sha256: found.sha256,
      ...observed,
      logLinesPerRequest: await countLogLines(peer, setting, origin),
      configuration: await hashesOf([peer.configurationFile, ...peer.otherFiles]),
    }
  } finally {
    await origin.close()
  }
}

async function placeOf(
  peer: Peer,
  { folder, processors, certificateFile, keyFile, hosts, isStock = false }: ParitySetting,
  origin: CapturingOrigin,
  log?: string,
): Promise<PeerSetting> {
  const own = join(folder, `${peer.name}${log === undefined ? '' : '-logging'}`)
  await mkdir(own, { recursive: true })
  return {
    folder: own,
    port: await freePort(),
    tlsPort: await freePort(),
    origins: [origin.address],
    certificateFile,
    keyFile,
    processors,
    hosts,
    isStock,
    ...(log === undefined ? {} : { accessLogFile: log }),
  }
}

async function observe(running: RunningPeer, origin: CapturingOrigin, setting: ParitySetting) {
  const { port, tlsPort } = running.setting
  const [host = 'localhost'] = setting.hosts
  const exchanges = {
    http: await capture('http', port, host, origin),
    https: await capture('https', tlsPort, host, origin),
  }
  return {
    exchanges,
    idle: await watchIdle(origin, setting.idleMs),
    reuse: await countReuse(port, host, origin),
    tls: await probeTls(tlsPort, host),
    backlog: { http: (await backlogOf(port)) ?? 0, https: (await backlogOf(tlsPort)) ?? 0 },
    processes: running.processes().length,
    threads: usageOf(running.processes()).threads,
  }
}

async function capture(
  protocol: 'http' | 'https',
  port: number,
  host: string,
  origin: CapturingOrigin,
): Promise<CapturedExchange> {
  const path = `/parity?by=${protocol}`
  const sent: Field[] = [
    ['Host', `${host}:${port}`],
    ['User-Agent', 'sluice-bench'],
    ['Accept', '*/*'],
    ['X-Probe', 'as it came'],
  ]
  const { answer, bodyBytes } = await ask(protocol, { port, host, path, fields: sent })
  const received = origin.captured(path)
  if (received === undefined) throw new Error(`port ${port}: the origin did not see ${path}`)
  return {
    sent,
    received,
    answered: ANSWER_FIELDS,
    answer: {
      status: answer.statusCode ?? 0,
      httpVersion: answer.httpVersion,
      fields: pairs(answer.rawHeaders),
      bodyBytes,
    },
  }
}

async function watchIdle(origin: CapturingOrigin, idleMs: number): Promise<ParityRecord['idle']> {
  const before = { requests: origin.requests, connections: origin.connections }
  await delay(idleMs)
  return {
    seconds: idleMs / 1000,
    requests: origin.requests - before.requests,
    connections: origin.connections - before.connections,
  }
}

async function countReuse(
  port: number,
  host: string,
  origin: CapturingOrigin,
): Promise<ParityRecord['reuse']> {
  const agent = new Agent({ keepAlive: true, maxSockets: REUSE_CONNECTIONS })
  const before = { requests: origin.requests, connections: origin.connections }
  let asked = 0
  const lanes = Array.from({ length: REUSE_CONNECTIONS }, async () => {
    while (asked < REUSE_REQUESTS) {
      asked += 1
      await ask('http', { port, host, path: '/reuse', fields: [['Host', host]], agent })
    }
  })
  await Promise.all(lanes)
  agent.destroy()
  const connections = origin.connections - before.connections
  return {
    requests: REUSE_REQUESTS,
    originRequests: origin.requests - before.requests,
    connections,
    connectionsPer1000: (connections / REUSE_REQUESTS) * 1_000,
  }
}

/** After its end, since some write their lines together. */
async function countLogLines(
  peer: Peer,
  setting: ParitySetting,
  origin: CapturingOrigin,
): Promise<number | undefined> {
  const log = join(setting.folder, `${peer.name}.access.log`)
  const running = await peer.start(await placeOf(peer, setting, origin, log))
  const [host = 'localhost'] = setting.hosts
  try {
    const { port } = running.setting
    for (let done = 0; done < LOGGED_REQUESTS; done += 1) {
      await ask('http', { port, host, path: LOG_MARK, fields: [['Host', host]] })
    }
  } finally {
    await running.stop()
  }
  const text = await readFile(log, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  if (text === undefined) return undefined
  return text.split('\n').filter((line) => line.includes(LOG_MARK)).length / LOGGED_REQUESTS
}

interface Question {
  readonly port: number
  readonly host: string
  readonly path: string
  readonly fields: readonly Field[]
  readonly agent?: Agent
}

async function ask(
  protocol: 'http' | 'https',
  { port, host, path, fields, agent }: Question,
): Promise<{ answer: IncomingMessage; bodyBytes: number }> {
  const headers = Object.fromEntries(fields)
  // A connection that is offered for more, as those of the load are.
  const own =
    protocol === 'http' ? new Agent({ keepAlive: true }) : new TlsAgent({ keepAlive: true })
  const to = { host: '127.0.0.1', port, path, headers, timeout: ANSWER_MS, agent: agent ?? own }
  const sent: ClientRequest =
    protocol === 'http'
      ? httpRequest(to)
      : httpsRequest({ ...to, servername: host, rejectUnauthorized: false })
  sent.on('timeout', () => sent.destroy(new Error(`port ${port}: no answer to ${path}`)))
  sent.end()
  try {
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    // What fails from here on fails the answer's body, too, and is told there.
    sent.on('error', () => answer.destroy())
    let bodyBytes = 0
    for await (const chunk of answer) bodyBytes += (chunk as Buffer).length
    return { answer, bodyBytes }
  } finally {
    own.destroy()
  }
}

async function hashesOf(files: readonly string[]): Promise<ParityRecord['configuration']> {
  return Promise.all(
    files.map(async (file) => ({ file: basename(file), sha256: await sha256Of(file) })),
  )
}
