/** Everything out of one control plane and into an empty one, by the `sluice` command. */
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { cliEnvironment, fileWith, runCli } from './harness/cli.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { entryPoint, router, service } from './harness/fleet.ts'
import type { Scope } from './harness/scope.ts'
import { TestCa } from './harness/test-ca.ts'

const { it } = claims()

const PASSPHRASE = 'correct horse bättery'

async function filled(scope: Scope): Promise<ControlPlane> {
  const controlPlane = await ControlPlane.start(scope)
  const issued = await (await TestCa.create()).issue({ hosts: ['up.test'] })
  await controlPlane.api.apply(
    { kind: 'settings', logs: { perSecondPerNode: 7 }, labels: { site: 'x' } },
    entryPoint('web'),
    service('back', [1, 2], { labels: { team: 'a' } }),
    router('front', 'up.test', 'back'),
    { kind: 'certificate', name: 'own', source: 'internal', hosts: ['own.test', '127.0.0.1'] },
    { kind: 'certificate', name: 'up', source: 'uploaded', ...issued },
  )
  // So that the number of the version is no hint of what it holds.
  await controlPlane.api.apply(service('gone', [3]))
  await controlPlane.api.call('DELETE', '/api/v1/services/gone')
  return controlPlane
}

function sluice(scope: Scope, of: ControlPlane, words: string[], passphrase?: string) {
  const environment = cliEnvironment(of)
  if (passphrase !== undefined) environment.SLUICE_PASSPHRASE = passphrase
  return runCli(scope, words, environment)
}

async function newestHash({ api }: ControlPlane): Promise<string> {
  return (await api.get<{ hash: string }>('/api/v1/status')).hash
}

it('an export with sealed keys brings an empty control plane to the same hash', async (scope) => {
  const from = await filled(scope)
  const file = join(dirname(await fileWith(scope, 'unused', '')), 'all.yaml')
  const exported = await sluice(scope, from, ['export', '-f', file], PASSPHRASE)
  expect(exported).toMatchObject({ code: 0 })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const text = await readFile(file, 'utf8')
  expect(text).not.toContain('PRIVATE KEY')
  expect(text.match(/sealedPrivateKey/g)).toHaveLength(2)

  const to = await ControlPlane.start(scope)
  const wrong = await sluice(scope, to, ['import', '-f', file], 'not the one')
  expect(wrong).toMatchObject({ code: 1, output: expect.stringContaining('passphrase is wrong') })
  const without = await sluice(scope, to, ['import', '-f', file])
  expect(without).toMatchObject({ code: 1, output: expect.stringContaining('passphrase') })
  expect(await newestHash(to)).toBe('')
  const secret = await fileWith(scope, 'passphrase', `${PASSPHRASE}\n`)
  const words = ['import', '-f', file, '--passphrase-file', secret]
  expect(await sluice(scope, to, words)).toMatchObject({ code: 0 })
  expect(await newestHash(to)).toBe(await newestHash(from))

  // The keys are there after a restart, and a second export imports to nothing new.
  await to.kill()
  await to.startAgain()
  expect(await newestHash(to)).toBe(await newestHash(from))
  const again = await sluice(scope, to, words)
  expect(again.output).toMatch(/version 1\n$/)
})

it('an export without a passphrase leaves keys out, and says what it cannot bring back', async (scope) => {
  const from = await filled(scope)
  const { output } = await sluice(scope, from, ['export'])
  expect(output).not.toMatch(/sealedPrivateKey|PRIVATE KEY/)
  const file = await fileWith(scope, 'open.yaml', output)
  const to = await ControlPlane.start(scope)
  expect(await sluice(scope, to, ['import', '-f', file])).toMatchObject({
    code: 1,
    output: expect.stringContaining('certificate/up: privateKeyPem: is required'),
  })
  // Where the keys are, nothing changes.
  const before = await newestHash(from)
  expect(await sluice(scope, from, ['import', '-f', file])).toMatchObject({ code: 0 })
  expect(await newestHash(from)).toBe(before)
})

it('import keeps what it does not have, and deletes it with --replace', async (scope) => {
  const from = await filled(scope)
  const { output } = await sluice(scope, from, ['export'], PASSPHRASE)
  const file = await fileWith(scope, 'all.yaml', output)
  const before = await newestHash(from)
  await from.api.apply(service('more', [4]), router('more', 'more.test', 'more'))
  await sluice(scope, from, ['import', '-f', file], PASSPHRASE)
  expect((await from.api.call('GET', '/api/v1/routers/more')).status).toBe(200)
  const replaced = await sluice(scope, from, ['import', '-f', file, '--replace'], PASSPHRASE)
  expect(replaced.output).toMatch(/router\/more removed/)
  expect(await newestHash(from)).toBe(before)
})
