/** The cases that a node with a static file keeps to as well: proto/contract/documents.yaml. */
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { parseDocuments } from '../cli/documents.ts'
import { RunningControlPlane } from './testing/running-control-plane.ts'

interface ContractCase {
  readonly claim: string
  readonly documents: string
  readonly hash?: string
  readonly refused?: readonly string[]
}

const table = new URL('../../../proto/contract/documents.yaml', import.meta.url)
const parsed = parseAllDocuments(readFileSync(table, 'utf8'))
const cases = (Array.isArray(parsed) ? parsed : []).map((one) => one.toJS() as ContractCase)

let api: RunningControlPlane

beforeEach(async () => {
  api = await RunningControlPlane.start()
})

afterEach(() => api.remove())

it.each(cases)('$claim', async ({ documents, hash, refused }) => {
  const resources = parseDocuments('x.yaml', documents).map(({ resource }) => resource)
  const { body } = await api.apply(...resources)
  if (refused === undefined) {
    expect(body.problems).toBeUndefined()
    expect((await api.get('/versions/1')).body.hash).toBe(hash)
  } else {
    const problems = body.problems as { kind: string; name: string; field: string }[]
    expect(problems.map(placeOf).sort()).toEqual([...refused].sort())
  }
})

function placeOf({ kind, name, field }: { kind: string; name: string; field: string }): string {
  return `${kind === 'settings' ? kind : `${kind}/${name}`}: ${field}`
}
