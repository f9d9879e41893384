import { expect, it } from 'vitest'
import { toDocument } from './documents.ts'
import { featureNeeds } from './features.ts'

function needsOf(fields: object): readonly string[] {
  const input = { name: 's', servers: [{ url: 'http://h:1' }], ...fields }
  return featureNeeds({ kind: 'service', spec: toDocument('service', input).spec } as never).map(
    ({ feature, field }) => `${feature} for ${field}`,
  )
}

it.each([
  ['nothing', {}, []],
  ['health-check', { healthCheck: { path: '/' } }, ['health-check for healthCheck']],
  ['slow-start', { slowStartMs: 1 }, ['slow-start for slowStartMs']],
])('a service asks of a node for %s where it has the field', (_name, fields, needs) => {
  expect(needsOf(fields)).toEqual(needs)
})
