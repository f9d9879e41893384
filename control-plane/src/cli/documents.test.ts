import { describe, expect, it } from 'vitest'
import { locatedProblem, parseDocuments, refuseRepetitions } from './documents.ts'

const SHOP = `# the shop
kind: service
name: shop
servers:
  - url: http://127.0.0.1:9001
  - url: http://127.0.0.1:9002
    weight: 3
---
kind: router
name: shop
match:
  hosts: [shop.example.com]
service: shop
`

describe('parseDocuments', () => {
  it('reads every document of a file in order', () => {
    const documents = parseDocuments('shop.yaml', SHOP)
    expect(documents.map(({ kind, name, number }) => ({ kind, name, number }))).toEqual([
      { kind: 'service', name: 'shop', number: 1 },
      { kind: 'router', name: 'shop', number: 2 },
    ])
    expect(documents[1]?.resource).toEqual({
      kind: 'router',
      name: 'shop',
      match: { hosts: ['shop.example.com'] },
      service: 'shop',
    })
  })

  it('reads JSON, which is YAML too', () => {
    expect(
      parseDocuments('a.json', '{"kind":"settings","logs":{"perSecondPerNode":5}}'),
    ).toMatchObject([
      { kind: 'settings', name: 'settings', resource: { logs: { perSecondPerNode: 5 } } },
    ])
  })

  it('skips documents without content', () => {
    expect(
      parseDocuments('a.yaml', '# only a comment\n---\n---\nkind: settings\n---\n'),
    ).toHaveLength(1)
    expect(parseDocuments('a.yaml', '')).toEqual([])
  })

  it.each([
    ['no kind', 'name: shop\n', 'a.yaml:1: document 1: kind: is missing'],
    [
      'an unknown kind',
      '\nkind: routr\nname: a\n',
      'a.yaml:2: document 1: kind: "routr" is not one of',
    ],
    ['no name', 'kind: router\n', 'a.yaml:1: document 1: name: is missing'],
    [
      'a name that is no text',
      'kind: router\nname: 7\n',
      'a.yaml:1: document 1: name: 7 is not text',
    ],
    ['a list', '- kind: router\n', 'a.yaml:1: document 1: it is not a mapping of fields'],
    [
      'a field twice',
      'kind: router\nname: a\nname: b\n',
      'a.yaml:3: document 1: Map keys must be unique',
    ],
    [
      'a quote that stays open',
      'kind: "router\nname: a\n',
      'a.yaml:3: document 1: Missing closing "quote',
    ],
    ['an unknown alias', 'kind: router\nname: *a\n', 'a.yaml:1: document 1: Unresolved alias'],
  ])('refuses %s with file, line and document', (_name, text, message) => {
    expect(() => parseDocuments('a.yaml', text)).toThrow(message)
  })

  it('names all faulty documents at once', () => {
    expect(() => parseDocuments('a.yaml', 'kind: x\nname: a\n---\nkind: y\nname: b\n')).toThrow(
      /a\.yaml:1: document 1: kind: "x".*\na\.yaml:4: document 2: kind: "y"/,
    )
  })

  it('refuses aliases that multiply', () => {
    const steps = Array.from({ length: 12 }, (_, at) => {
      const of = at === 0 ? 'x' : `*a${at - 1}`
      return `a${at}: &a${at} [${Array(10).fill(of).join(', ')}]`
    })
    expect(() => parseDocuments('a.yaml', `kind: router\nname: a\n${steps.join('\n')}\n`)).toThrow(
      'a.yaml:1: document 1: Excessive alias count',
    )
  })
})

describe('locatedProblem', () => {
  const documents = parseDocuments('shop.yaml', SHOP)

  it.each([
    ['servers[1].weight', 7],
    ['servers[1].url', 6],
    ['servers', 4],
    ['timeouts.connectMs', 2],
    ['', 2],
  ])('finds the line of %s', (field, line) => {
    const problem = { kind: 'service', name: 'shop', field, reason: 'is wrong' }
    const at = `shop.yaml:${line}: document 1: service/shop: `
    expect(locatedProblem(documents, problem)).toBe(
      `${at}${field === '' ? '' : `${field}: `}is wrong`,
    )
  })

  it('leaves a problem of another object without a place', () => {
    const problem = {
      kind: 'router',
      name: 'other',
      field: 'service',
      reason: 'no service named "x"',
    }
    expect(locatedProblem(documents, problem)).toBe('router/other: service: no service named "x"')
  })
})

describe('refuseRepetitions', () => {
  it('names both places of an object that is described twice', () => {
    const documents = [
      ...parseDocuments('a.yaml', 'kind: router\nname: shop\n'),
      ...parseDocuments('b.yaml', '# second\nkind: router\nname: shop\n'),
    ]
    expect(() => refuseRepetitions(documents)).toThrow(
      'b.yaml:3: document 1: name: router/shop is described at a.yaml:2 already',
    )
  })

  it('lets kinds share a name', () => {
    expect(() => refuseRepetitions(parseDocuments('shop.yaml', SHOP))).not.toThrow()
  })
})
