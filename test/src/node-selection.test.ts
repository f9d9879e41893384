/** Routers that select nodes by labels: a node serves what concerns it, and holds no key beyond that. */
import { connect } from 'node:tls'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { ControlPlane } from './harness/control-plane.ts'
import type { DataPlaneNode } from './harness/data-plane-node.ts'
import { entryPoint, Fleet, joinNode, router, service } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { exchange, get } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()
const SITES = ['berlin', 'oslo'] as const

async function startSites(scope: Scope): Promise<Fleet> {
  const controlPlane = await ControlPlane.start(scope)
  const names = ['web', 'websecure']
  await controlPlane.api.apply(entryPoint('web'), entryPoint('websecure', { protocol: 'https' }))
  const nodes: DataPlaneNode[] = []
  for (const site of SITES) {
    const joinToken = await controlPlane.createJoinToken({ labels: { site } })
    nodes.push(await joinNode(scope, controlPlane, { name: site, joinToken }, names))
  }
  await Promise.all(nodes.map((node) => node.untilReady()))
  return new Fleet(controlPlane, nodes)
}

/** The name of the certificate that a node presents, or how it refuses. */
function presented(node: DataPlaneNode, servername: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const target = { host: '127.0.0.1', port: node.port('websecure') }
  const socket = connect({ ...target, servername, rejectUnauthorized: false })
  socket.once('secureConnect', () => resolve(socket.getPeerCertificate().subjectaltname ?? ''))
  socket.once('error', ({ message }) => resolve(message))
  return promise.finally(() => socket.destroy())
}

it('each of two nodes serves the routers and certificates of its site and of all, and follows a router that moves', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const fleet = await startSites(scope)
  const sites = SITES.flatMap((site) => [
    router(site, `${site}.test`, 's', { nodes: { site } }),
    { kind: 'certificate', name: site, source: 'internal', hosts: [`${site}.test`] },
  ])
  await fleet.publish(service('s', [origin.port]), router('all', 'all.test', 's'), ...sites)
  const statuses = (host: string) =>
    Promise.all(
      fleet.nodes.map(async (node) => statusOf(await exchange(scope, node.port(), get(host, '/')))),
    )
  expect(await statuses('all.test')).toEqual([200, 200])
  expect(await statuses('berlin.test')).toEqual([200, 404])
  expect(await statuses('oslo.test')).toEqual([404, 200])
  const [berlin, oslo] = fleet.nodes as [DataPlaneNode, DataPlaneNode]
  expect(await presented(berlin, 'berlin.test')).toBe('DNS:berlin.test')
  expect(await presented(oslo, 'berlin.test')).toMatch(/unrecognized name/i)
  const [one, other] = await fleet.nodeViews()
  expect(one?.hash).not.toBe(other?.hash)

  await fleet.publish(router('berlin', 'berlin.test', 's', { nodes: { site: 'oslo' } }))
  expect(await statuses('berlin.test')).toEqual([404, 200])
  expect(await presented(oslo, 'berlin.test')).toBe('DNS:berlin.test')
  expect(await presented(berlin, 'berlin.test')).toMatch(/unrecognized name/i)
})
