/** Draining a node, a server and a router: nothing new comes, what runs ends well, and what is open is shown. */
import { connect } from 'node:net'
import { expect } from 'vitest'
import type { NodeView } from './harness/api-client.ts'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { type Fleet, router, service, startFleet } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { exchange, get, RawClient } from './harness/raw-client.ts'

const { it } = claims()
const SHOWN_MS = 5_000

interface DrainView extends NodeView {
  readonly load: {
    readonly connectionsOpen: number
    readonly exchangesOpen: number
    readonly draining: readonly { name: string; serverUrl: string; exchangesOpen: number }[]
  } | null
}

function untilNode(fleet: Fleet, that: string, isSo: (view: DrainView) => boolean) {
  return eventually(
    async () => {
      const view = await fleet.api.get<DrainView>('/api/v1/nodes/n1')
      return isSo(view) ? view : undefined
    },
    { withinMs: SHOWN_MS, that },
  )
}

function refuses(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1')
  socket.once('connect', () => resolve(false))
  socket.once('error', () => resolve(true))
  return promise.finally(() => socket.destroy())
}

it('a drained node takes no connection and is not ready, ends what is open well, shows how much that is over a restart of both sides, and comes back', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const { promise: mayAnswer, resolve: answerNow } = Promise.withResolvers<void>()
  origin.answer = ({ connection }) => {
    void mayAnswer.then(() =>
      connection.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone'),
    )
  }
  const fleet = await startFleet(scope, {
    resources: [service('s', [origin.port]), router('r', 'r.test', 's')],
  })
  const client = await RawClient.open(scope, fleet.node.port())
  client.send(get('r.test', '/'))
  await origin.untilRequests(1)
  await fleet.api.post('/api/v1/nodes/n1/drain')
  const draining = await untilNode(fleet, 'a draining node with one request', ({ load }) => {
    return load?.exchangesOpen === 1
  })
  expect(draining).toMatchObject({ state: 'draining', load: { connectionsOpen: 1 } })
  expect(await refuses(fleet.node.port())).toBe(true)
  expect(await fleet.node.probe('/readyz')).toMatchObject({
    status: 503,
    text: expect.stringContaining('an operator drains the node'),
  })
  answerNow()
  expect((await client.answer()).body.toString()).toBe('done')
  await client.untilEnded()
  await untilNode(fleet, 'nothing open', ({ load }) => load?.connectionsOpen === 0)

  await fleet.controlPlane.kill()
  await fleet.controlPlane.startAgain()
  await fleet.node.stop()
  fleet.node.startAgain()
  await untilNode(fleet, 'draining still', ({ state, load }) => {
    return state === 'draining' && load !== null
  })
  await eventually(() => refuses(fleet.node.port()), { withinMs: SHOWN_MS, that: 'no listener' })
  const { version } = await fleet.api.apply(service('later', [1]))
  await untilNode(fleet, 'a new version while it drains', (view) => view.version === version)

  await fleet.api.post('/api/v1/nodes/n1/undrain')
  await fleet.untilInSync(version)
  await fleet.node.untilReady()
  expect(statusOf(await exchange(scope, fleet.node.port(), get('r.test', '/')))).toBe(200)
})

it('a server that drains gets no new request, and what is open there is shown until it ends', async (scope) => {
  const [first, second] = [await ScriptedOrigin.start(scope), await ScriptedOrigin.start(scope)]
  first.answer = () => {}
  const fleet = await startFleet(scope, {
    resources: [service('s', [first.port]), router('r', 'r.test', 's')],
  })
  const client = await RawClient.open(scope, fleet.node.port())
  client.send(get('r.test', '/held'))
  await first.untilRequests(1)
  const serverUrl = `http://127.0.0.1:${first.port}`
  const servers = [{ url: serverUrl, drain: true }, { url: `http://127.0.0.1:${second.port}` }]
  await fleet.publish({ kind: 'service', name: 's', servers })
  for (let request = 0; request < 4; request += 1) {
    expect(statusOf(await exchange(scope, fleet.node.port(), get('r.test', '/new')))).toBe(200)
  }
  expect([first.requests.length, second.requests.length]).toEqual([1, 4])
  const shows = (exchangesOpen: number) => (view: DrainView) =>
    view.load?.draining.some((one) => {
      return one.serverUrl === serverUrl && one.exchangesOpen === exchangesOpen
    }) === true
  const view = await untilNode(fleet, 'one open request of the server', shows(1))
  expect(view.state).toBe('in-sync')
  first.connections[0]?.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone')
  expect((await client.answer()).body.toString()).toBe('done')
  await untilNode(fleet, 'no open request of the server', shows(0))
})

it('a router that drains answers 503 and takes no request to another router', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const all = { kind: 'router', name: 'all', service: 's' }
  const fleet = await startFleet(scope, {
    resources: [service('s', [origin.port]), router('r', 'r.test', 's'), all],
  })
  await fleet.publish(router('r', 'r.test', 's', { drain: true }))
  expect(statusOf(await exchange(scope, fleet.node.port(), get('r.test', '/')))).toBe(503)
  expect(statusOf(await exchange(scope, fleet.node.port(), get('other.test', '/')))).toBe(200)
  await untilNode(fleet, 'the router among what drains', ({ load }) => {
    return load?.draining.some(({ name }) => name === 'r') === true
  })
  await fleet.publish(router('r', 'r.test', 's'))
  expect(statusOf(await exchange(scope, fleet.node.port(), get('r.test', '/')))).toBe(200)
  await untilNode(fleet, 'nothing that drains', ({ load }) => load?.draining.length === 0)
})
