/** The `sluice` command against a running control plane. */
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { type CliResult, cliEnvironment, fileWith, runCli } from './harness/cli.ts'
import { type Fleet, startFleet } from './harness/fleet.ts'
import type { Scope } from './harness/scope.ts'

const { it, suite, before } = claims()
let fleet: Fleet

before(async () => {
  fleet = await startFleet(suite)
})

function sluice(scope: Scope, ...words: string[]): Promise<CliResult> {
  return runCli(scope, words, cliEnvironment(fleet.controlPlane))
}

async function json(scope: Scope, ...words: string[]): Promise<Record<string, unknown>> {
  const { code, output } = await sluice(scope, ...words, '--json')
  expect({ code, output }).toMatchObject({ code: 0 })
  return JSON.parse(output) as Record<string, unknown>
}

const YAML = `
kind: service
name: shop
servers:
  - url: http://127.0.0.1:9
---
kind: router
name: shop
match:
  hosts: [shop.test]
service: shop
`

it('apply publishes the documents of a file, and get, status, nodes and versions show them', async (scope) => {
  const file = await fileWith(scope, 'shop.yaml', YAML)
  const applied = await json(scope, 'apply', '-f', file)
  expect(applied).toMatchObject({
    changes: [
      { kind: 'service', name: 'shop', change: 'created' },
      { kind: 'router', name: 'shop', change: 'created' },
    ],
  })
  await fleet.untilInSync(applied.version as number)
  const table = await sluice(scope, 'get', 'routers')
  expect(table).toMatchObject({ code: 0, output: expect.stringContaining('shop.test') })
  expect(await json(scope, 'get', 'routers', 'shop')).toMatchObject({ service: 'shop' })
  expect(await json(scope, 'status')).toMatchObject({ version: applied.version })
  const nodes = await sluice(scope, 'nodes')
  expect(nodes).toMatchObject({ code: 0, output: expect.stringContaining('n1') })
  const versions = await sluice(scope, 'versions')
  expect(versions).toMatchObject({
    code: 0,
    output: expect.stringContaining(String(applied.version)),
  })
  const again = await json(scope, 'apply', '-f', file)
  expect(again).toMatchObject({ version: applied.version })
  expect(await sluice(scope, 'delete', 'router', 'shop')).toMatchObject({ code: 0 })
  expect((await fleet.api.call('GET', '/api/v1/routers/shop')).status).toBe(404)
})

it('token create makes a token with which a node can join', async (scope) => {
  const created = await json(scope, 'token', 'create', '--label', 'zone=a', '--expires', '10m')
  expect(created.token).toMatch(/^sluice-join\.[\w-]{43}\.[\w-]{43}$/)
  const listed = await sluice(scope, 'token', 'list')
  expect(listed.code).toBe(0)
  expect(listed.output).not.toContain(created.token)
})

const BAD_FILES: Readonly<Record<string, readonly [text: string, says: RegExp]>> = {
  'YAML that does not parse': ['kind: [router', /bad\.yaml/],
  'a document without a kind': ['name: x', /kind/],
  'an unknown field': ['kind: service\nname: x\nservers: []\ncolour: red', /colour/],
  'a dangling reference': ['kind: router\nname: x\nmatch: {}\nservice: ghost', /ghost/],
  'bytes that are no text': ['\0\x01\x02', /bad\.yaml/],
}
for (const [name, [text, says]] of Object.entries(BAD_FILES)) {
  it(`apply of ${name} ends with an error that says so, and changes nothing`, async (scope) => {
    const before = await fleet.status()
    const result = await sluice(scope, 'apply', '-f', await fileWith(scope, 'bad.yaml', text))
    expectClearError(result, says)
    expect((await fleet.status()).version).toBe(before.version)
  })
}

const BAD_WORDS: Readonly<Record<string, readonly [words: readonly string[], says: RegExp]>> = {
  'an unknown command': [['explode'], /explode/],
  'an unknown kind': [['get', 'gadgets'], /gadgets/],
  'an unknown object': [['get', 'routers', 'ghost'], /ghost/],
  'a file that is not there': [['apply', '-f', '/nowhere/x.yaml'], /nowhere/],
  'revoking an unknown node': [['node', 'revoke', 'ghost'], /ghost/],
  'an expiry that is none': [['token', 'create', '--expires', 'soon'], /soon|expires/],
  'a server that does not answer': [['status', '--server', 'http://127.0.0.1:1'], /127\.0\.0\.1:1/],
  'a token file that is not there': [['status', '--token-file', '/nowhere/token'], /nowhere/],
}
for (const [name, [words, says]] of Object.entries(BAD_WORDS)) {
  it(`${name} gives a clear error and a code other than 0`, async (scope) => {
    expectClearError(await sluice(scope, ...words), says)
  })
}

it('a wrong admin token is told apart from other errors', async (scope) => {
  const environment = { SLUICE_SERVER: fleet.controlPlane.adminUrl, SLUICE_TOKEN: 'wrong' }
  expectClearError(await runCli(scope, ['status'], environment), /token/i)
})

function expectClearError({ code, output }: CliResult, says: RegExp): void {
  expect(code, output).toBeGreaterThan(0)
  expect(output).toMatch(says)
  expect(output).not.toMatch(/\n\s+at /)
}
