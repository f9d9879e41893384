/** Plans, prunings, differences, roll-backs, drafts and edits by the `sluice` command, as operators run it. */
import { chmod, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
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

const service = (name: string, more = '') =>
  `kind: service\nname: ${name}\nlabels: {team: ${name.split('-')[0]}}\nservers: [{url: "http://127.0.0.1:9"}]\n${more}`
const router = (name: string, to: string) =>
  `kind: router\nname: ${name}\nlabels: {team: ${name.split('-')[0]}}\nmatch: {hosts: [${name}.test]}\nservice: ${to}\n`

async function apply(scope: Scope, text: string, ...words: string[]): Promise<number> {
  const file = await fileWith(scope, 'given.yaml', text)
  return (await json(scope, 'apply', '-f', file, ...words)).version as number
}

it('plan shows what apply would change, with 4, changes nothing, and then 0', async (scope) => {
  await apply(scope, `${service('plan-a')}---\n${router('plan-r', 'plan-a')}`)
  const file = await fileWith(
    scope,
    'next.yaml',
    `${service('plan-a', 'queueMax: 5\n')}---\n${service('plan-b')}`,
  )
  const version = (await fleet.status()).version
  const plan = await sluice(scope, 'plan', '-f', file)
  expect(plan).toEqual({
    code: 4,
    output: '~ service/plan-a\n    queueMax: 1024 -> 5\n+ service/plan-b\n',
  })
  expect((await fleet.status()).version).toBe(version)
  await sluice(scope, 'apply', '-f', file)
  expect(await sluice(scope, 'plan', '-f', file)).toMatchObject({ code: 0 })
})

it('apply --prune deletes what has the labels and is in no file, and plan tells it before', async (scope) => {
  await apply(
    scope,
    [service('prune-a'), router('prune-r', 'prune-a'), service('other-a')].join('---\n'),
  )
  const file = await fileWith(scope, 'left.yaml', service('prune-b'))
  const prune = ['-f', file, '--prune', '--selector', 'team=prune']
  const plan = await sluice(scope, 'plan', ...prune)
  expect(plan.output).toBe('+ service/prune-b\n- service/prune-a\n- router/prune-r\n')
  const { version } = await json(scope, 'apply', ...prune)
  await fleet.untilInSync(version as number)
  expect((await fleet.api.call('GET', '/api/v1/services/prune-a')).status).toBe(404)
  expect((await fleet.api.call('GET', '/api/v1/services/other-a')).status).toBe(200)
  const alone = await sluice(scope, 'apply', '-f', file, '--prune')
  expect(alone).toMatchObject({ code: 2, output: expect.stringContaining('--selector') })
})

it('nodes follow a version in which only labels changed', async (scope) => {
  const first = await apply(scope, service('label-a'))
  const text = service('label-a').replace('team: label', 'team: other')
  const second = await apply(scope, text)
  expect(second).toBe(first + 1)
  await fleet.untilInSync(second)
})

it('diff tells what differs, and rollback makes a version with the hash of the old one', async (scope) => {
  const first = await apply(scope, service('back-a'))
  const second = await apply(scope, service('back-a', 'passHost: false\n'))
  const diff = await sluice(scope, 'diff')
  expect(diff).toEqual({
    code: 0,
    output: '~ service/back-a\n    passHost: true -> false\n',
  })
  expect((await sluice(scope, 'diff', String(first), String(second))).output).toBe(diff.output)
  const rolled = await json(scope, 'rollback', String(first), '--message', 'as it was')
  await fleet.untilInSync(rolled.version as number)
  const [old, now] = await Promise.all(
    [first, rolled.version].map((number) => json(scope, 'versions', String(number))),
  )
  expect([now?.hash, now?.message]).toEqual([old?.hash, 'as it was'])
  expect((await sluice(scope, 'rollback', '999999')).code).toBe(1)
})

it('a draft gathers files and deletions, shows and checks them, and is published once', async (scope) => {
  await apply(scope, service('draft-a'))
  const { version } = await fleet.status()
  const file = await fileWith(scope, 'draft.yaml', router('draft-r', 'draft-b'))
  await sluice(scope, 'apply', '-f', file, '--draft', 'work')
  expect(await sluice(scope, 'draft', 'validate', 'work')).toMatchObject({
    code: 1,
    output: expect.stringContaining('did you mean "draft-a"?'),
  })
  await sluice(
    scope,
    'apply',
    '-f',
    await fileWith(scope, 'b.yaml', service('draft-b')),
    '--draft',
    'work',
  )
  await sluice(scope, 'delete', 'service', 'draft-a', '--draft', 'work')
  expect((await sluice(scope, 'draft', 'show', 'work')).output).toBe(
    '+ router/draft-r\n- service/draft-a\n+ service/draft-b\n',
  )
  expect((await sluice(scope, 'draft', 'list')).output).toContain('work')
  expect((await fleet.status()).version).toBe(version)
  const published = await json(scope, 'draft', 'publish', 'work', '--message', 'all of it')
  expect(published.version).toBe(version + 1)
})

/** An editor that is called once with each of these commands, on the file as "$1". */
async function editorOf(scope: Scope, steps: readonly string[]): Promise<string> {
  const cases = steps.map((step, at) => `${at}) ${step};;`).join('\n')
  const script = await fileWith(scope, 'editor.sh', '')
  const text = `#!/bin/sh
n=$(cat "${script}.count" 2>/dev/null || echo 0)
echo $((n + 1)) > "${script}.count"
cp "$1" "${dirname(script)}/seen-$n.yaml"
case $n in
${cases}
esac
`
  const path = await fileWith(scope, 'run-editor.sh', text)
  await chmod(path, 0o755)
  await fileWith(scope, 'unused', '')
  return path
}

function edit(scope: Scope, editor: string, name: string): Promise<CliResult> {
  const environment = { ...cliEnvironment(fleet.controlPlane), EDITOR: editor, VISUAL: '' }
  return runCli(scope, ['edit', 'router', name], environment)
}

it('edit opens the object, brings what is refused back with its line and reason, and publishes', async (scope) => {
  await apply(scope, `${service('edit-a')}---\n${router('edit-r', 'edit-a')}`)
  const editor = await editorOf(scope, [
    'sed -i "s/^service: .*/service: edit-b/" "$1"',
    'cp "$1" "$1.told" && cp "$1" "$0.told" && sed -i "s/^service: .*/service: edit-a/; s/^priority: .*/priority: 7/" "$1"',
  ])
  const result = await edit(scope, editor, 'edit-r')
  expect(result).toMatchObject({
    code: 0,
    output: expect.stringMatching(/router\/edit-r replaced\nversion \d+/),
  })
  const told = await readFile(`${editor}.told`, 'utf8')
  expect(told).toMatch(
    /^#! .*router\.yaml:\d+: document 1: router\/edit-r: service: refers to .*"edit-b"/,
  )
  expect((await fleet.api.call('GET', '/api/v1/routers/edit-r')).body).toMatchObject({
    priority: 7,
  })
})

it('edit without a change does nothing, and one that was overtaken asks again', async (scope) => {
  await apply(scope, `${service('late-a')}---\n${router('late-r', 'late-a')}`)
  const { version } = await fleet.status()
  const idle = await edit(scope, await editorOf(scope, [':']), 'late-r')
  expect(idle).toMatchObject({ code: 0, output: expect.stringContaining('nothing was changed') })
  expect((await fleet.status()).version).toBe(version)
  const url = `${fleet.controlPlane.adminUrl}/api/v1/routers/late-r`
  const request = await fileWith(
    scope,
    'meanwhile.mjs',
    `import { readFileSync } from 'node:fs'
const authorization = 'Bearer ' + readFileSync(process.env.SLUICE_TOKEN_FILE, 'utf8').trim()
const headers = { authorization, 'content-type': 'application/json' }
await fetch('${url}', { method: 'PATCH', headers, body: '{"priority":3}' })
`,
  )
  const meanwhile = `"${process.execPath}" "${request}"`
  const editor = await editorOf(scope, [
    `${meanwhile}; sed -i "s/^priority: .*/priority: 5/" "$1"`,
    'cp "$1" "$0.told"; sed -i "s/^priority: .*/priority: 6/" "$1"',
  ])
  expect(await edit(scope, editor, 'late-r')).toMatchObject({ code: 0 })
  expect(await readFile(`${editor}.told`, 'utf8')).toMatch(/^#! it was changed meanwhile/)
  expect((await fleet.api.call('GET', '/api/v1/routers/late-r')).body).toMatchObject({
    priority: 6,
  })
})

it('errors name file, line, object and field in files of several documents', async (scope) => {
  const text = `${service('line-a')}---\n${router('line-r', 'line-a')}prioritty: 3\n`
  const file = await fileWith(scope, 'lines.yaml', text)
  for (const command of ['apply', 'plan']) {
    const { code, output } = await sluice(scope, command, '-f', file)
    expect([code, output]).toEqual([
      1,
      `${file}:11: document 2: router/line-r: prioritty: is not a known field (did you mean "priority"?)\n`,
    ])
  }
})
