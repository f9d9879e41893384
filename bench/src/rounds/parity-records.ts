/** parity.json from what the probe saw and what the peers say of themselves. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ParityRecord } from '../artifacts/records.ts'
import type { Found, Peer } from '../peers/peer.ts'
import type { RunSetting } from './measured-run.ts'
import type { Contestant } from './session.ts'

type FoundPeer = Extract<Found, { kind: 'found' }>

/** One for each, in their order. */
export async function readParity(
  contestants: readonly Contestant[],
  _setting: RunSetting,
  _reference: string,
): Promise<ParityRecord[]> {
  return Promise.all(contestants.map(({ peer, found }) => plainParity(peer, found)))
}

/** What is known without having asked the proxy anything. */
export async function plainParity(peer: Peer, found: FoundPeer): Promise<ParityRecord> {
  const texts: string[] = []
  for (const file of [peer.configurationFile, ...peer.otherFiles]) {
    texts.push(await readFile(file, 'utf8'))
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
    log: peer.name.startsWith('self') ? 'sampled' : 'none',
    logLinesPerRequest: null,
    debug: debugSigns(found),
    configuration,
    configurationSha256: createHash('sha256').update(configuration).digest('hex'),
    knobs: [],
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
