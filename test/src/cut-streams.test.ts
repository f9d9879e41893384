/** Streams that are cut and delayed at any byte between a node and its control plane: no version is lost or mixed. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { entryPoint, Fleet, joinNode, router, service } from './harness/fleet.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()
const VERSIONS = 20
/** When nothing was cut by then, cutting does not work. */
const VERSIONS_MAX = 100
const ROUTERS = 60

/** Forwards to a port. While it is rough, each connection is delayed, and cut after some bytes. */
class RoughProxy {
  readonly port: number
  isRough = false
  cuts = 0
  readonly #sockets = new Set<Socket>()

  static async start(scope: Scope, to: number): Promise<RoughProxy> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new RoughProxy((server.address() as AddressInfo).port)
    server.on('connection', (socket) => proxy.#forward(socket, to))
    scope.defer(() => {
      server.close()
      for (const socket of proxy.#sockets) socket.destroy()
    })
    return proxy
  }

  private constructor(port: number) {
    this.port = port
  }

  #forward(client: Socket, to: number): void {
    const upstream = connect(to, '127.0.0.1')
    // A handshake alone is some 3,000 bytes, so that most cuts come after it.
    const budget = { left: 4_000 + Math.random() * 30_000 }
    for (const [from, into] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        this.#sockets.delete(from)
        into.destroy()
      })
      from.on('data', (bytes: Buffer) => void this.#pass(from, into, bytes, budget))
    }
  }

  async #pass(from: Socket, into: Socket, bytes: Buffer, budget: { left: number }): Promise<void> {
    if (!this.isRough) {
      into.write(bytes)
      return
    }
    from.pause()
    await delay(Math.random() * 5)
    budget.left -= bytes.length
    if (budget.left > 0) {
      into.write(bytes)
      from.resume()
      return
    }
    this.cuts += 1
    // What fits still goes, so that messages break off in the middle.
    into.write(bytes.subarray(0, Math.max(0, bytes.length + budget.left)))
    into.end()
    from.destroy()
  }
}

it('a node behind a connection that is cut and delayed at random ends in sync with every byte right', async (scope) => {
  const controlPlane = await ControlPlane.start(scope)
  const proxy = await RoughProxy.start(scope, controlPlane.fleetPort)
  await controlPlane.api.apply(entryPoint('web'), service('s', [1]))
  const address = `127.0.0.1:${proxy.port}`
  const node = await joinNode(scope, controlPlane, { name: 'n1', controlPlane: address })
  await node.untilReady()
  const fleet = new Fleet(controlPlane, [node])
  proxy.isRough = true
  let version = 0
  for (
    let number = 1;
    number <= VERSIONS_MAX && (number <= VERSIONS || proxy.cuts === 0);
    number += 1
  ) {
    // Far more than a first flow-control window, in every version.
    const fields = { priority: number, match: { hosts: [], pathPrefixes: [`/${'x'.repeat(900)}`] } }
    const routers = Array.from({ length: ROUTERS }, (_, index) => ({
      ...router(`r${index}`, 'x.test', 's'),
      ...fields,
    }))
    ;({ version } = await controlPlane.api.apply(...routers))
    await delay(Math.random() * 300)
  }
  proxy.isRough = false
  await fleet.untilInSync(version, 20_000)
  expect(proxy.cuts).toBeGreaterThan(0)
  const { hash } = await fleet.status()
  expect(await node.status()).toMatchObject({ version, hash, source: 'control-plane' })
})
