import { expect, it } from 'vitest'
import { closest } from './closest.ts'
import { differences } from './difference.ts'
import { toDocument } from './documents.ts'
import type { Kind } from './kinds.ts'
import type { Resource } from './resources.ts'

// The cast holds for every kind but certificates.
const make = (kind: Exclude<Kind, 'certificate'>, input: object) =>
  toDocument(kind, input) as Resource
const service = (name: string, ...urls: string[]) =>
  make('service', { name, servers: urls.map((url) => ({ url })) })

it('compares lists of one length item by item, others as a whole', () => {
  const one = service('s', 'http://a:1', 'http://b:1')
  expect(differences([one], [service('s', 'http://a:1', 'http://c:1')])).toEqual([
    {
      kind: 'service',
      name: 's',
      change: 'changed',
      fields: [{ field: 'servers[1].url', before: 'http://b:1', after: 'http://c:1' }],
    },
  ])
  const [longer] = differences([one], [service('s', 'http://a:1')])
  expect(longer?.fields.map(({ field }) => field)).toEqual(['servers'])
})

it('tells a field that was or is not there by leaving that side out', () => {
  const plain = make('entry-point', { name: 'e', address: ':1', protocol: 'https' })
  const other = make('entry-point', {
    name: 'e',
    address: ':1',
    protocol: 'https',
    defaultCertificate: 'c',
  })
  expect(differences([plain], [other])[0]?.fields).toEqual([
    { field: 'defaultCertificate', after: 'c' },
  ])
  expect(differences([other], [plain])[0]?.fields).toEqual([
    { field: 'defaultCertificate', before: 'c' },
  ])
})

it('lists what came and went by kind and name, whatever the order, and nothing for equal sides', () => {
  const all = [service('b', 'http://a:1'), make('router', { name: 'r', service: 'b' })]
  expect(differences(all, all.toReversed())).toEqual([])
  const names = differences([], all).map(({ kind, change }) => [kind, change])
  expect(names).toEqual([
    ['router', 'added'],
    ['service', 'added'],
  ])
})

it.each([
  ['shp', ['shop', 'ship-it', 'x'], 'shop'],
  ['prioritty', ['priority', 'service'], 'priority'],
  ['prio', ['service', 'priority'], 'priority'],
  ['abc', ['xyz'], undefined],
  ['a', [], undefined],
])('of names that may have been meant by "%s" finds %s', (given, names, found) => {
  expect(closest(given, names)).toBe(found)
})
