import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { StartFailure } from '../errors.ts'
import { NodeFixture, readiness, request, statusOf, webAddress } from '../node.fixture.ts'
import { waitFor } from '../wait-for.fixture.ts'
import { ControlPlaneFixture } from './control-plane.fixture.ts'
import { makeKeyRequest } from './identity.ts'

let node: NodeFixture

beforeEach(async () => {
  node = await NodeFixture.make()
})

afterEach(async () => {
  await node.stop()
})

it('keeps its key and certificate in a file that only its owner reads', async () => {
  await node.start()
  await waitFor(() => node.controlPlane.hellos.length === 1, 'a hello')
  const path = join(node.folder, 'identity.json')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const { nodeId } = JSON.parse(await readFile(path, 'utf8'))
  expect(node.controlPlane.hellos[0]?.nodeId).toBe(nodeId)
})

it('refuses to start with neither identity nor token', async () => {
  await expect(node.start({}, false)).rejects.toThrow(
    /there is no identity in .*; join with --join-token/,
  )
})

it('refuses to start with a text that is no token', async () => {
  await expect(node.start({ joinToken: 'sluice-join.x.y' })).rejects.toThrow(StartFailure)
})

it('gives up when its token is refused', async () => {
  node.controlPlane.refusal = { code: status.UNAUTHENTICATED, details: 'the token has expired' }
  await node.start()
  await waitFor(() => node.failures.length === 1, 'the failure')
  expect(String(node.failures[0])).toBe(
    'StartFailure: cannot join: the token has expired (UNAUTHENTICATED)',
  )
})

it('sends its token to no other control plane than the one that made it', async () => {
  const other = await ControlPlaneFixture.start()
  await node.start({ controlPlane: other.address })
  await waitFor(() => node.failures.length === 1, 'the failure')
  other.down()
  expect(String(node.failures[0])).toContain('not the control plane that the join token was made')
})

it('goes on trying to join while the control plane is not there', async () => {
  node.controlPlane.down()
  await node.start()
  await waitFor(() => node.log.some((line) => line.includes('cannot join yet')), 'a warning')
  await node.controlPlane.up()
  await waitFor(() => node.controlPlane.hellos.length === 1, 'a hello')
  expect(node.failures).toEqual([])
})

it('is back in sync within 5 s after the control plane came back', async () => {
  node.controlPlane.update = node.version(1n)
  const supervisor = await node.start()
  await node.controlPlane.take('applied')
  node.controlPlane.down()
  await waitFor(async () => (await statusOf(supervisor)).controlPlane === 'disconnected', 'loss')
  const address = await webAddress(supervisor)
  expect(await request(address)).toBe('200 from the origin')
  node.controlPlane.update = node.version(2n)
  const backAt = Date.now()
  await node.controlPlane.up()
  await node.controlPlane.take('applied')
  expect(Date.now() - backAt).toBeLessThan(5_000)
})

it('serves on when it is revoked, and says so once', async () => {
  node.controlPlane.update = node.version(1n)
  const supervisor = await node.start()
  await node.controlPlane.take('applied')
  const refusal = { code: status.PERMISSION_DENIED, details: 'the node is revoked' }
  node.controlPlane.refusal = refusal
  node.controlPlane.cut(refusal.code, refusal.details)
  await waitFor(async () => (await statusOf(supervisor)).problems.length === 1, 'the problem')
  const { problems, controlPlane } = await statusOf(supervisor)
  expect(controlPlane).toBe('disconnected')
  expect(problems[0]).toBe('this node was revoked: the node is revoked (PERMISSION_DENIED)')
  expect(await request(await webAddress(supervisor))).toBe('200 from the origin')
  expect(node.log.filter((line) => line.includes('refuses this node'))).toHaveLength(1)
})

it('serves on when its certificate has expired, says how to go on, and joins again with a token', async () => {
  node.controlPlane.update = node.version(1n)
  const first = await node.start()
  await node.controlPlane.take('applied')
  await first.stop()
  const file = join(node.folder, 'identity.json')
  const identity = JSON.parse(await readFile(file, 'utf8'))
  node.controlPlane.nodeStartedAgoMs = 2 * node.controlPlane.nodeLifeMs
  const { csrPem, privateKeyPem } = await makeKeyRequest()
  const certificatePem = await node.controlPlane.sign(csrPem, identity.nodeId)
  await writeFile(file, JSON.stringify({ ...identity, certificatePem, privateKeyPem }))
  node.controlPlane.nodeStartedAgoMs = 0
  const refusal = { code: status.UNAUTHENTICATED, details: 'a valid certificate is required' }
  node.controlPlane.configureRefusal = refusal

  const second = await node.start({ joinToken: node.controlPlane.token.replace(/\.[^.]/, '.x') })
  await waitFor(() => node.log.some((line) => line.includes('could not join again')), 'the failure')
  expect((await statusOf(second)).problems).toEqual([
    expect.stringMatching(/^this node's certificate expired on .*: start it with a new join token/),
  ])
  await waitFor(async () => (await readiness(second)) === '200 ready', 'readiness')
  expect(await request(await webAddress(second))).toBe('200 from the origin')
  await second.stop()

  const third = await node.start()
  await waitFor(() => node.log.filter((line) => line.includes('"joined"')).length === 2, 'joining')
  node.controlPlane.configureRefusal = undefined
  await waitFor(async () => (await readiness(third)) === '200 ready', 'readiness')
  expect(await request(await webAddress(third))).toBe('200 from the origin')
  expect(JSON.parse(await readFile(file, 'utf8')).certificatePem).not.toBe(certificatePem)
})

it('renews a certificate that is past two thirds of its life, with a new key', async () => {
  node.controlPlane.nodeLifeMs = 60_000
  node.controlPlane.nodeStartedAgoMs = 45_000
  await node.start()
  await node.controlPlane.take('renewal')
  await waitFor(() => node.controlPlane.hellos.length === 2, 'a session with the new certificate')
  expect(node.log.filter((line) => line.includes('certificate was renewed'))).toHaveLength(1)
  const [before, after] = node.controlPlane.hellos
  expect(after?.nodeId).toBe(before?.nodeId)
  expect(after?.bootId).toBe(before?.bootId)
})
