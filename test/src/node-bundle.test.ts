/** A bundle lets a new node serve while the control plane is away, and join when it is back. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Traffic } from './harness/api-client.ts'
import { claims } from './harness/claims.ts'
import { cliEnvironment, fileWith, runCli } from './harness/cli.ts'
import { DataPlaneNode } from './harness/data-plane-node.ts'
import { eventually } from './harness/eventually.ts'
import { type Fleet, router, service, startFleet } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import { freePort } from './harness/ports.ts'
import { exchange, get } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()

interface Made {
  readonly output: string
  readonly file: string
}

/** For a node edge-9 with the label site=berlin. */
async function makeBundle(scope: Scope, fleet: Fleet, ...more: string[]): Promise<Made> {
  const file = join(await scope.temporaryDirectory(), 'edge-9.bundle')
  const words = ['node', 'bundle', 'edge-9', '--label', 'site=berlin', '-o', file, ...more]
  const { code, output } = await runCli(scope, words, cliEnvironment(fleet.controlPlane))
  expect([code, output]).toEqual([0, expect.stringContaining('for node edge-9')])
  return { output, file }
}

async function startBundled(scope: Scope, fleet: Fleet, bundle: string, passphraseFile?: string) {
  return DataPlaneNode.start(scope, {
    controlPlane: fleet.controlPlane.fleetAddress,
    name: 'another-name',
    bundle,
    ...(passphraseFile === undefined ? {} : { bundlePassphraseFile: passphraseFile }),
    ports: { web: await freePort() },
  })
}

async function answers(scope: Scope, node: DataPlaneNode, host: string): Promise<number> {
  return statusOf(await exchange(scope, node.port(), get(host, '/x')))
}

it('a node with a bundle serves its view while the control plane is away, over a restart, then joins as what the bundle says and loses no count', async (scope) => {
  const origin = await startEchoOrigin(scope, 'echo')
  const fleet = await startFleet(scope)
  await fleet.publish(
    service('s', [origin]),
    router('all', 'all.test', 's'),
    router('berlin', 'berlin.test', 's', { nodes: { site: 'berlin' } }),
    router('paris', 'paris.test', 's', { nodes: { site: 'paris' } }),
  )
  const { file, output } = await makeBundle(scope, fleet)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(output).toContain('private keys in the clear')
  const startedAt = Date.now()
  await fleet.controlPlane.kill()

  const node = await startBundled(scope, fleet, file)
  await node.untilReady()
  const statuses = () =>
    Promise.all(['all.test', 'berlin.test', 'paris.test'].map((host) => answers(scope, node, host)))
  expect(await statuses()).toEqual([200, 200, 404])
  await node.stop()
  node.startAgain()
  await node.untilReady()
  expect(await statuses()).toEqual([200, 200, 404])
  expect(await node.status()).toMatchObject({ nodeId: '', controlPlane: 'disconnected' })

  await fleet.controlPlane.startAgain()
  const joined = async () => (await fleet.nodeViews()).some(({ name }) => name === 'edge-9')
  await eventually(joined, { withinMs: 15_000, that: 'the node in the fleet' })
  await fleet.untilInSync()
  expect(await fleet.nodeView('edge-9')).toMatchObject({ labels: { site: 'berlin' } })
  await fleet.publish(router('new', 'new.test', 's'))
  expect(await answers(scope, node, 'new.test')).toBe(200)
  const from = startedAt - (startedAt % 60_000)
  const counted = async () => {
    const range = `from=${from}&to=${Date.now() + 60_000}`
    const { series } = await fleet.api.get<Traffic>(`/api/v1/analytics/traffic?by=node&${range}`)
    const points = series.flatMap(({ points }) => points)
    return points.reduce((sum, { requests }) => sum + requests.total, 0) === 7
  }
  await eventually(counted, { withinMs: 10_000, that: 'each of the seven requests counted' })
})

it('a sealed bundle needs its passphrase, and one that is damaged or used up ends the node with a clear line', async (scope) => {
  const origin = await startEchoOrigin(scope, 'echo')
  const fleet = await startFleet(scope)
  await fleet.publish(service('s', [origin]), router('all', 'all.test', 's'))
  const passphrase = await fileWith(scope, 'passphrase', 'correct horse\n')
  const wrong = await fileWith(scope, 'wrong', 'another\n')
  const { file } = await makeBundle(scope, fleet, '--passphrase-file', passphrase)
  expect(await readFile(file, 'latin1')).toMatch(/^age-encryption\.org\/v1\n/)
  const damaged = await fileWith(scope, 'damaged', '{"format": "sluice-node-bundle-1"')
  const refusals: [string, string | undefined, string][] = [
    [file, undefined, 'it is sealed: give its passphrase with --bundle-passphrase-file'],
    [file, wrong, 'the passphrase is another one, or it is damaged'],
    [damaged, undefined, 'it is not a bundle of this format'],
    [`${damaged}.none`, undefined, 'ENOENT'],
  ]
  for (const [bundle, passphraseFile, words] of refusals) {
    const node = await startBundled(scope, fleet, bundle, passphraseFile)
    expect((await node.process.waitForExit(10_000)).code).toBe(1)
    expect(await node.process.wholeOutput()).toContain(words)
  }
  const node = await startBundled(scope, fleet, file, passphrase)
  await node.untilReady()
  expect(await answers(scope, node, 'all.test')).toBe(200)
  const joined = async () => (await fleet.nodeViews()).some(({ name }) => name === 'edge-9')
  await eventually(joined, { withinMs: 15_000, that: 'the node in the fleet' })
  const second = await startBundled(scope, fleet, file, passphrase)
  expect((await second.process.waitForExit(15_000)).code).toBe(1)
  expect(await second.process.wholeOutput()).toContain('cannot join: ')
})
