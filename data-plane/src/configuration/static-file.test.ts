import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Resource, ResourceKind } from '@sluice/proto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { problem } from './problems.ts'
import { readStaticFile, readStaticText, type StaticReading } from './static-file.ts'

const SHOP = `# the shop
kind: service
name: shop
servers:
  - url: http://127.0.0.1:9001
---
kind: router
name: shop
match:
  hosts: [shop.example.com]
service: shop
`

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-static-'))
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const out = ['-keyout', join(folder, 'site.key'), '-out', join(folder, 'site.pem')]
  const names = ['-subj', '/CN=site', '-addext', 'subjectAltName=DNS:site.example']
  execFileSync('openssl', ['req', '-x509', ...key, ...out, ...names], { stdio: 'ignore' })
})

afterAll(() => rm(folder, { recursive: true }))

async function problemsOf(text: string, path = 'a.yaml'): Promise<readonly string[]> {
  const reading = await readStaticText(path, text)
  return reading.kind === 'refused' ? reading.problems : []
}

function resourcesOf(reading: StaticReading): Resource['resource'][] {
  if (reading.kind === 'refused') throw new Error(reading.problems.join('\n'))
  return reading.resources.map((bytes) => Resource.decode(bytes).resource)
}

it('names every problem of every document at once, in the order of the file', async () => {
  const text = `kind: service
name: shop
servers:
  - url: https://127.0.0.1:9001
    wieght: 3
---
kind: routr
name: shop
---
- a list
---
kind: router
name: shop
match:
  hosts:
    - shop.example.com
    - "*"
service: shop
---
kind: entry-point
name: web
address: nowhere
protocol: tcp
---
kind: router
name: "open
`
  const starts = (await problemsOf(text)).map((line) => line.split(': ').slice(0, 4).join(': '))
  expect(starts).toEqual([
    'a.yaml:5: document 1: service/shop: servers[0].wieght',
    expect.stringMatching(/^a\.yaml:7: document 2: kind: "routr" is not one of entry-point/),
    'a.yaml:10: document 3: it is not a mapping of fields',
    'a.yaml:17: document 4: router/shop: match.hosts[1]',
    'a.yaml:23: document 5: entry-point/web: protocol',
    expect.stringMatching(/^a\.yaml:2\d: document 6: Missing closing "quote/),
  ])
})

it.each([
  ['a document without a kind', 'name: a\n', 'a.yaml:1: document 1: kind: is missing; one of'],
  [
    'a document without a name',
    'kind: router\nservice: s\n',
    'a.yaml:1: document 1: router: name: is',
  ],
  [
    'a field twice',
    'kind: router\nname: a\nname: b\n',
    'a.yaml:3: document 1: Map keys must be uni',
  ],
  ['an unknown alias', 'kind: router\nname: *a\n', 'a.yaml:1: document 1: Unresolved alias'],
  ['a file without documents', '# nothing\n', 'a.yaml:1: has no documents'],
])('refuses %s', async (_what, text, start) => {
  expect((await problemsOf(text)).join('\n')).toContain(start)
})

it('refuses an object that is described twice, with both places', async () => {
  expect(await problemsOf(`${SHOP}---\n${SHOP}`)).toContainEqual(
    'a.yaml:15: document 3: service/shop: name: is described at a.yaml:3 already',
  )
})

it('refuses aliases that multiply', async () => {
  const steps = Array.from({ length: 12 }, (_, at) => {
    const of = at === 0 ? 'x' : `*a${at - 1}`
    return `a${at}: &a${at} [${Array(10).fill(of).join(', ')}]`
  })
  const [first] = await problemsOf(`kind: router\nname: a\n${steps.join('\n')}\n`)
  expect(first).toContain('document 1: Excessive alias count')
})

it('tells more than a handful of problems', async () => {
  const servers = Array.from({ length: 50 }, () => '  - url: 1\n').join('')
  expect(await problemsOf(`kind: service\nname: a\nservers:\n${servers}`)).toHaveLength(50)
})

it('does not call what a broken document may describe missing', async () => {
  const text = 'kind: router\nname: r\nservice: s\n---\nkind: servic\nname: s\n'
  expect(await problemsOf(text)).toEqual([expect.stringContaining('document 2: kind: "servic"')])
})

it('says which file cannot be read', async () => {
  expect(await readStaticFile('/no/such/file.yaml')).toEqual({
    kind: 'refused',
    problems: [expect.stringMatching(/^\/no\/such\/file\.yaml: cannot be read: ENOENT/)],
  })
})

it('has a line too for what only the tables of the node object to', async () => {
  const text = SHOP.replace('127.0.0.1:9001', '256.0.0.1:9001')
  expect(await problemsOf(text)).toEqual([
    expect.stringMatching(/^a\.yaml:5: document 1: service\/shop: servers\[0\]\.url: "http/),
  ])
})

it('finds the place of a problem that shows only later', async () => {
  const reading = await readStaticText('a.yaml', SHOP)
  if (reading.kind === 'refused') throw new Error(reading.problems.join())
  const later = problem(ResourceKind.SERVICE, 'shop', 'servers[0].url', 'is taken')
  expect(reading.locate(later)).toBe('a.yaml:5: document 1: service/shop: servers[0].url: is taken')
})

describe('certificates', () => {
  const start = 'kind: certificate\nname: site\n'

  it('come from files beside the file', async () => {
    const path = join(folder, 'node.yaml')
    const files = 'chainFile: site.pem\nprivateKeyFile: ./site.key\n'
    await writeFile(path, `${start}source: uploaded\n${files}`)
    expect(resourcesOf(await readStaticFile(path))[0]).toMatchObject({
      $case: 'certificate',
      value: {
        name: 'site',
        hosts: ['site.example'],
        chainPem: await readFile(join(folder, 'site.pem'), 'utf8'),
      },
    })
  })

  it('of a control plane are refused with the way out', async () => {
    const [text] = await problemsOf(`${start}source: internal\nhosts: [a.example]\n`)
    expect(text).toMatch(/^a\.yaml:3: document 1: certificate\/site: source: is internal, which/)
    expect(text).toContain('source: uploaded with chainPem and privateKeyPem')
  })

  it.each([
    ['neither text nor file', '', ['chainPem: is required, or', 'privateKeyPem: is required, or']],
    [
      'text and file',
      'chainPem: x\nchainFile: x\nprivateKeyPem: y\n',
      ['chainFile: says again what chainPem says', 'privateKeyPem: holds no private key'],
    ],
    [
      'a file that is not there',
      'chainFile: site.pem\nprivateKeyFile: no.key\n',
      ['privateKeyFile: cannot be read: ENOENT'],
    ],
    [
      'a key in the place of the chain',
      'chainFile: site.key\nprivateKeyFile: site.key\n',
      ['chainFile: contains a private key'],
    ],
  ])('need %s to be put right', async (_what, fields, expected) => {
    const text = `${start}source: uploaded\n${fields}`
    const problems = await problemsOf(text, join(folder, 'a.yaml'))
    expect(problems).toEqual(expected.map((part) => expect.stringContaining(part)))
  })
})
