/** The cases that the control plane keeps to as well: proto/contract/documents.yaml. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Resource } from '@sluice/proto'
import { expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
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

/** As sluice.v1 Update.hash says. */
function hashOf(resources: readonly Uint8Array[]): string {
  const digests = resources.map((bytes) => createHash('sha256').update(bytes).digest())
  return createHash('sha256')
    .update(Buffer.concat(digests.sort(Buffer.compare)))
    .digest('hex')
}
