/** The cases that the control plane keeps to as well: proto/contract/documents.yaml. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  EntryPoint,
  Resource,
  Router,
  RouterMatch,
  Server,
  Service,
  ServiceTimeouts,
} from '@sluice/proto'
import { expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { documentSchemas } from './documents/schemas.ts'
import { readStaticText } from './static-file.ts'

interface ContractCase {
  readonly claim: string
  readonly documents: string
  readonly hash?: string
  readonly resources?: readonly unknown[]
  readonly refused?: readonly string[]
}

const table = new URL('../../../proto/contract/documents.yaml', import.meta.url)
const parsed = parseAllDocuments(readFileSync(table, 'utf8'))
const cases = (Array.isArray(parsed) ? parsed : []).map((one) => one.toJS() as ContractCase)

it.each(cases)('$claim', async ({ documents, hash, resources, refused }) => {
  const reading = await readStaticText('x.yaml', documents)
  if (reading.kind === 'read') {
    expect(reading.resources.map((bytes) => Resource.decode(bytes).resource)).toEqual(resources)
    expect(hashOf(reading.resources)).toBe(hash)
  } else {
    const places = reading.problems.map((line) => /document \d+: (\S+: \S+): /.exec(line)?.[1])
    expect(places.sort()).toEqual([...(refused ?? [])].sort())
  }
})

const NOTHING = new Uint8Array()
const { router, service } = documentSchemas

it.each([
  ['an entry point', EntryPoint.decode(NOTHING), documentSchemas['entry-point'].properties],
  ['a router', Router.decode(NOTHING), router.properties],
  ['a match', RouterMatch.decode(NOTHING), router.properties.match.properties],
  ['a service', Service.decode(NOTHING), service.properties],
  ['a server', Server.decode(NOTHING), service.properties.servers.items.properties],
  ['time-outs', ServiceTimeouts.decode(NOTHING), service.properties.timeouts.properties],
])('%s has no field on the wire that a file cannot give', (_what, message, properties) => {
  const fields = Object.keys(properties).filter((name) => name !== 'kind' && name !== 'labels')
  expect(fields.sort()).toEqual(Object.keys(message).sort())
})

/** As sluice.v1 Update.hash says. */
function hashOf(resources: readonly Uint8Array[]): string {
  const digests = resources.map((bytes) => createHash('sha256').update(bytes).digest())
  return createHash('sha256')
    .update(Buffer.concat(digests.sort(Buffer.compare)))
    .digest('hex')
}
