import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { ControlPlane } from '../control-plane.ts'
import { readSettings } from '../settings.ts'
import { runCommandLine } from './program.ts'

let dataDir: string
let controlPlane: ControlPlane
let environment: NodeJS.ProcessEnv

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
  const flags = ['--data-dir', dataDir, '--admin', '127.0.0.1:0', '--fleet', '127.0.0.1:0']
  controlPlane = await ControlPlane.start({
    settings: readSettings(flags, {}, '0.0.0'),
    softwareVersion: '0.0.0',
    log: pino({ level: 'silent' }),
    now: Date.now,
  })
  environment = {
    SLUICE_SERVER: `http://${controlPlane.adminAddress}`,
    SLUICE_TOKEN_FILE: join(dataDir, 'admin-token'),
  }
})

afterAll(async () => {
  await controlPlane.stop()
  await rm(dataDir, { recursive: true })
})

async function sluice(words: readonly string[], changed: NodeJS.ProcessEnv = {}) {
  const output: string[] = []
  const errors: string[] = []
  const code = await runCommandLine(words, {
    environment: { ...environment, ...changed },
    write: (text) => output.push(text),
    writeError: (text) => errors.push(text),
  })
  return { code, output: output.join('\n'), errors: errors.join('\n') }
}

async function apply(text: string, ...words: string[]) {
  const file = join(dataDir, 'given.yaml')
  await writeFile(file, text)
  return sluice(['apply', '-f', file, ...words])
}

describe('apply and get', () => {
  it('exports no log lines where there are none', async () => {
    expect(await sluice(['logs', '--export', '--path', '/a'])).toMatchObject({
      code: 0,
      output: '',
    })
  })

  it('prints each change and the version, and unchanged when applied again', async () => {
    const text = 'kind: service\nname: a\nservers: [{url: "http://127.0.0.1:9"}]\n'
    const first = await apply(`${text}---\nkind: router\nname: a\nservice: a\nmatch: {}\n`)
    expect(first).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^service\/a created\nrouter\/a created\nversion \d+$/),
    })
    expect((await apply(text)).output).toMatch(/^service\/a unchanged\nversion \d+$/)
  })

  it.each([
    ['service', 'kind: service\nname: s\nservers: [{url: "http://127.0.0.1:9"}]\n'],
    ['certificate', 'kind: certificate\nname: s\nsource: internal\nhosts: [s.test]\n'],
    ['entry-point', 'kind: entry-point\nname: s\naddress: 127.0.0.1:80\nprotocol: http\n'],
  ])('get of one %s prints YAML that apply takes back unchanged', async (kind, text) => {
    await apply(text)
    const shown = await sluice(['get', kind, 's'])
    expect((await apply(shown.output)).output).toContain(`${kind}/s unchanged`)
  })

  it('lists more objects than one page holds', async () => {
    const names = Array.from({ length: 150 }, (_, at) => `many-${at}`)
    const documents = names.map(
      (name) => `kind: service\nname: ${name}\nservers: [{url: "http://h:1"}]`,
    )
    await apply(documents.join('\n---\n'))
    const { items } = JSON.parse((await sluice(['get', 'services', '--json'])).output)
    const listed = items.map((item: { name: string }) => item.name)
    expect(listed.filter((name: string) => name.startsWith('many-')).toSorted()).toEqual(
      names.toSorted(),
    )
  })

  it('names file, line, document, object and field of what the control plane refuses', async () => {
    const before = (await sluice(['status', '--json'])).output
    const refused = await apply(
      'kind: settings\n---\nkind: router\nname: shop\nmatch: {}\nservice: shp\n',
    )
    expect(refused).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/given\.yaml:6: document 2: router\/shop: service: .*"shp"/),
    })
    expect((await sluice(['status', '--json'])).output).toBe(before)
  })

  it('says what still uses an object that is to be deleted', async () => {
    await apply(
      'kind: service\nname: used\nservers: [{url: "http://h:1"}]\n---\nkind: router\nname: user\nmatch: {}\nservice: used\n',
    )
    expect(await sluice(['delete', 'service', 'used'])).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/service "used" is still used by router "user"/),
    })
  })

  it('refuses what is too large for one request before it sends it', async () => {
    const refused = await apply(`kind: router\nname: ${'x'.repeat(4_194_304)}\n`)
    expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('at most 4 MiB') })
  })
})

it.each([
  [['status'], /resources +\d+ entry points/],
  [['nodes'], /^NAME +STATE/],
  [['history'], /all that nodes run was published here$/],
  [['token', 'list'], /^ID +EXPIRES/],
  [['user', 'list'], /^NAME +ROLE/],
  [['session', 'list'], /^ID +USER/],
  [['audit'], /^NUMBER +TIME +WHO/],
  [['audit', 'verify'], /^\d+ rows fit, up to row \d+ with the hash [0-9a-f]{64}$/],
  [['api-token', 'list'], /^NAME +ROLE +SCOPES/],
  [['versions'], /^VERSION +CREATED/],
  [['traffic', '--by', 'node', '--step', '1m'], /^NODE +TIME +REQUESTS/],
  [['logs', '--from', '1h'], /^TIME +NODE +STATUS/],
  [['logs', '--raise', '20/s', '--for', '30s', '--status', '5xx'], /^TIME +NODE +STATUS/],
  [['get', 'settings'], /perSecondPerNode: 10/],
])('%j prints text, and JSON with --json', async (words, text) => {
  expect(await sluice(words)).toMatchObject({ code: 0, output: expect.stringMatching(text) })
  expect(JSON.parse((await sluice([...words, '--json'])).output)).toBeTypeOf('object')
})

it('shows what one version held as YAML documents', async () => {
  await apply('kind: settings\nlogs: {perSecondPerNode: 7}\n', '--message', 'seven lines')
  const { version } = JSON.parse((await sluice(['status', '--json'])).output)
  await apply('kind: settings\nlogs: {perSecondPerNode: 10}\n')
  const shown = await sluice(['versions', String(version)])
  expect(shown.output).toContain('# seven lines')
  const resources = parseAllDocuments(shown.output).map((document) => parse(document.toString()))
  expect(resources).toContainEqual({
    kind: 'settings',
    labels: {},
    logs: { perSecondPerNode: 7 },
    versions: { countMax: 1_000, daysMax: 365 },
  })
})

it('adds a user, changes the role and the password, disables and removes it', async () => {
  const added = await sluice(['user', 'add', 'grace', '--role', 'editor'])
  expect(added.output).toMatch(/^user grace added as editor\npassword: \S{24}$/)
  const file = join(dataDir, 'password')
  await writeFile(file, 'a password of a file\n')
  const changes = [
    [['role', 'grace', 'viewer'], 'user grace is viewer'],
    [['password', 'grace', '--password-file', file], 'user grace has a new password'],
    [['reset-second-factor', 'grace'], 'user grace has no second factor'],
    [['disable', 'grace'], 'user grace disabled'],
  ] as const
  for (const [words, output] of changes) {
    expect(await sluice(['user', ...words])).toMatchObject({ code: 0, output })
  }
  expect((await sluice(['user', 'list'])).output).toMatch(/\ngrace +viewer +disabled +\S/)
  expect(await sluice(['user', 'role', 'grace', 'queen'])).toMatchObject({ code: 1 })
  expect((await sluice(['user', 'remove', 'grace'])).output).toBe('user grace removed')
  expect(await sluice(['user', 'remove', 'grace'])).toMatchObject({
    code: 1,
    errors: 'there is no user "grace"',
  })
})

it('makes an API token, works by it, and revokes it', async () => {
  const words = ['api-token', 'create', 'deploy', '--role', 'editor', '--expires', '1h']
  const { output } = await sluice([...words, '--scope', 'read', '--scope', 'write:service:team=a'])
  expect(output).toMatch(/^sluice_[A-Za-z0-9_-]{43}$/)
  const listed = await sluice(['api-token', 'list'])
  expect(listed.output).toMatch(/\ndeploy +editor +read write:service:team=a +\S+ \S+ +-$/)
  const by = { SLUICE_TOKEN: output }
  expect(await sluice(['get', 'services'], by)).toMatchObject({ code: 0 })
  expect(await sluice(['user', 'list'], by)).toMatchObject({
    code: 1,
    errors: 'this needs the role admin; token:deploy has editor',
  })
  expect((await sluice(['api-token', 'revoke', 'deploy'])).output).toBe('API token deploy revoked')
  expect(await sluice(['get', 'services'], by)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('does not accept the token from SLUICE_TOKEN'),
  })
})

describe('exit codes', () => {
  it.each([
    [['explode'], /unknown command 'explode'/],
    [['get', 'gadgets'], /'gadgets' is invalid/],
    [['apply'], /--file/],
    [['status', 'now'], /too many arguments/],
    [['delete', 'settings', 'settings'], /Settings always exist/],
    [['token', 'create', '--expires', 'soon'], /not a duration/],
    [['api-token', 'create', 'x', '--role', 'viewer', '--scope', 'all'], /not a scope/],
    [['api-token', 'create', 'x'], /--role/],
    [['traffic', '--by', 'moon'], /Allowed choices/],
    [['status', '--server', 'nowhere'], /"nowhere" is not a URL/],
    [['status', '--token-file', '/nowhere/token'], /\/nowhere\/token: there is no such file/],
    [['apply', '-f', '/nowhere/a.yaml'], /\/nowhere\/a\.yaml/],
  ])('%j ends with 2', async (words, says) => {
    expect(await sluice(words)).toMatchObject({ code: 2, errors: expect.stringMatching(says) })
  })

  it('help ends with 0', async () => {
    expect(await sluice(['--help'])).toMatchObject({ code: 0, errors: '' })
  })

  it('a wrong token ends with 1 and names where the token came from', async () => {
    expect(await sluice(['status'], { SLUICE_TOKEN: 'wrong' })).toMatchObject({
      code: 1,
      errors: expect.stringContaining('does not accept the token from SLUICE_TOKEN'),
    })
  })

  it('a control plane that is not there ends with 3 and names the address', async () => {
    const gone = await sluice(['status'], { SLUICE_SERVER: 'http://127.0.0.1:1' })
    expect(gone).toMatchObject({ code: 3, errors: expect.stringContaining('http://127.0.0.1:1') })
    expect(gone.errors.split('\n')).toHaveLength(1)
  })

  it('something else that answers there ends with 3', async () => {
    const server = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const other = await sluice(['status'], { SLUICE_SERVER: `http://127.0.0.1:${port}` })
    server.close()
    expect(other).toMatchObject({
      code: 3,
      errors: expect.stringContaining('not a Sluice control plane'),
    })
  })
})
