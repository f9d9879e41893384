/** parity.json from what the probe saw and what the peers say of themselves. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ParityRecord } from '../artifacts/records.ts'
import type { Field } from '../peers/capturing-origin.ts'
import type { ParityRecord as ProbedParity } from '../peers/parity.ts'
import { probeParity } from '../peers/parity-probe.ts'
import type { Found, Peer } from '../peers/peer.ts'
import { linesUnder } from '../peers/template.ts'
import type { RunSetting } from './measured-run.ts'
import type { Contestant } from './session.ts'

type FoundPeer = Extract<Found, { kind: 'found' }>

const IDLE_MS = 5_000
/** Of one connection, and not of the request or answer. */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'date', 'transfer-encoding'])

/** One for each, in their order. A proxy that the probe cannot get an answer from has the plain facts alone. */
export async function readParity(
  contestants: readonly Contestant[],
  setting: RunSetting,
  idleMs = IDLE_MS,
): Promise<ParityRecord[]> {
  const records: ParityRecord[] = []
  for (const { peer, found } of contestants) {
    if (setting.signal.aborted) break
    const plain = await plainParity(peer, found, setting.isStock)
    const [seen] = await probeParity(
      [peer],
      {
        folder: join(setting.folder, 'parity'),
        processors: setting.processors.proxy,
        certificateFile: setting.certificateFile,
        keyFile: setting.keyFile,
        hosts: setting.suite.hosts,
        idleMs,
        isStock: setting.isStock,
      },
      peer.name,
    ).catch((error: Error) => {
      process.stderr.write(`${peer.name}: not probed: ${error.message}\n`)
      return []
    })
    records.push(
      seen === undefined
        ? plain
        : {
            ...plain,
            ...factsOf(seen, { isSampled: isOurs(peer), logsRequests: setting.suite.logsRequests }),
          },
    )
  }
  return records
}

function factsOf(
  seen: ProbedParity,
  { isSampled, logsRequests }: { readonly isSampled: boolean; readonly logsRequests: boolean },
): Partial<ParityRecord> {
  const { sent, received, answered, answer } = seen.exchanges.http
  const log = seen.logLinesPerRequest ?? null
  return {
    requestHead: headOf(
      `${received.method} ${received.path} HTTP/${received.httpVersion}`,
      received.fields,
    ),
    responseHead: headOf(`HTTP/${answer.httpVersion} ${answer.status}`, answer.fields),
    requestFieldsAdded: namesBeside(received.fields, sent),
    requestFieldsRemoved: namesBeside(sent, received.fields),
    responseFieldsAdded: namesBeside(answer.fields, answered),
    responseFieldsRemoved: namesBeside(answered, answer.fields),
    tls: {
      version: seen.tls.version,
      cipher: seen.tls.cipher,
      group: seen.tls.group,
      fingerprint: seen.tls.fingerprint,
      isResumed: seen.tls.isResumed,
    },
    upstreamConnectionsPer1000: seen.reuse.connectionsPer1000,
    hitsWithoutLoad: seen.idle.requests,
    backlog: seen.backlog.http,
    log: isSampled ? 'sampled' : logsRequests && log !== null ? 'file' : 'none',
    logLinesPerRequest: isSampled ? null : log,
  }
}

function headOf(line: string, fields: readonly Field[]): string {
  return [line, ...fields.map(([name, value]) => `${name}: ${value}`)].join('\n')
}

function namesBeside(fields: readonly Field[], others: readonly Field[]): string[] {
  const known = new Set(others.map(([name]) => name.toLowerCase()))
  return fields
    .map(([name]) => name)
    .filter((name) => !known.has(name.toLowerCase()) && !OF_CONNECTION.has(name.toLowerCase()))
}

/** What is known without having asked the proxy anything. */
export async function plainParity(
  peer: Peer,
  found: FoundPeer,
  isStock: boolean,
): Promise<ParityRecord> {
  const texts: string[] = []
  const knobs: string[] = []
  for (const file of [peer.configurationFile, ...peer.otherFiles]) {
    const text = await readFile(file, 'utf8')
    texts.push(text)
    if (file.endsWith('.template') && !isStock) knobs.push(...linesUnder(text, 'tuned'))
  }
  const configuration = texts.join('\n')
  return {
    proxy: peer.name,
    title: peer.title,
    version: found.version,
    binary: found.binary,
    sha256: found.sha256,
    source: found.origin,
    requestHead: '',
    responseHead: '',
    requestFieldsAdded: [],
    requestFieldsRemoved: [],
    responseFieldsAdded: [],
    responseFieldsRemoved: [],
    tls: null,
    upstreamConnectionsPer1000: null,
    hitsWithoutLoad: null,
    backlog: null,
    log: isOurs(peer) ? 'sampled' : 'none',
    logLinesPerRequest: null,
    debug: debugSigns(found),
    configuration,
    configurationSha256: createHash('sha256').update(configuration).digest('hex'),
    knobs,
  }
}

/** Settings of the environment that make a program slower or another one than its users have. */
function debugSigns({ binary, origin }: FoundPeer): string[] {
  const signs: string[] = []
  if (/\bdebug\b/.test(origin) || /\/target\/debug\//.test(binary)) signs.push('a debug build')
  if (process.env.NODE_OPTIONS?.includes('--inspect') === true)
    signs.push('NODE_OPTIONS has --inspect')
  return signs
}

/** Ours keeps a sample of log lines whether or not a file is asked for; builds of it have the same configuration. */
function isOurs({ configurationFile }: Peer): boolean {
  return configurationFile.endsWith('/self/sluice.yaml.template')
}
