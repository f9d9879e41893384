/** Health checks and slow start at a whole node, before origins that fail their checks. */
import { request } from 'undici'
import { expect } from 'vitest'
import { CaseScene } from './harness/case-scene.ts'
import { claims } from './harness/claims.ts'
import { router, service } from './harness/fleet.ts'
import { statusOf, valuesOf } from './harness/http-text.ts'
import { exchange, get } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'

const { it, suite, before } = claims()
let scene: CaseScene
const TIMES = { intervalMs: 100, unhealthyAfter: 2, timeoutMs: 5_000 }

before(async () => {
  scene = await CaseScene.start(suite, {
    documents: ([origin, other]) =>
      [
        checked('one', [other!.port], '/one'),
        checked('two', [other!.port], '/two'),
        checked('both', [origin!.port, other!.port], '/both'),
        checked('open', [origin!.port, other!.port], '/open', { failOpen: true }),
        checked('slow', [origin!.port, other!.port], '/slow', {}, { slowStartMs: 4_000 }),
      ].flatMap((one) => [one, router(String(one.name), `${one.name}.test`, String(one.name))]),
  })
})

function checked(name: string, ports: number[], path: string, check = {}, more = {}) {
  return service(name, ports, { healthCheck: { path, ...TIMES, ...check }, ...more })
}

type Name = 'origin' | 'other'

/** Of the checks, those at these paths fail; all other requests get the name of the origin. */
function failing(where: { readonly [name in Name]?: readonly string[] }): void {
  for (const name of ['origin', 'other'] as const) {
    scene[name].answer = ({ target, connection }) => {
      const isOut = where[name]?.includes(target) === true
      const status = isOut ? '503 No' : '200 OK'
      const body = `Content-Length: ${name.length}\r\n\r\n${name}`
      connection.socket.write(`HTTP/1.1 ${status}\r\n${body}`)
    }
  }
}

/** Who answered, of so many requests one after the other. */
async function share(scope: Scope, host: string, count: number): Promise<Record<string, number>> {
  const seen: Record<string, number> = {}
  for (let at = 0; at < count; at += 1) {
    const answer = await exchange(scope, scene.port, get(host, '/traffic'))
    const key = statusOf(answer) === 200 ? String(answer.body) : String(statusOf(answer))
    seen[key] = (seen[key] ?? 0) + 1
  }
  return seen
}

async function untilShared(
  scope: Scope,
  host: string,
  expected: Record<string, number>,
): Promise<void> {
  const count = Object.values(expected).reduce((sum, one) => sum + one, 0)
  await expect.poll(() => share(scope, host, count), { timeout: 15_000 }).toEqual(expected)
}

it('C07: a server that fails its check gets nothing, for the service that checks it so alone', async (scope) => {
  failing({ other: ['/two', '/both'] })
  await untilShared(scope, 'two.test', { 503: 4 })
  await untilShared(scope, 'both.test', { origin: 6 })
  expect(await share(scope, 'one.test', 4)).toEqual({ other: 4 })
  await expect.poll(unhealthy, { timeout: 15_000 }).toEqual(['both', 'two'])
  expect(await scene.node.metric('servers_unhealthy')).toBe(2)
  failing({})
  await untilShared(scope, 'two.test', { other: 4 })
  await untilShared(scope, 'both.test', { origin: 3, other: 3 })
})

/** The services that see an unhealthy server. */
async function unhealthy(): Promise<string[]> {
  const answer = await request(`http://127.0.0.1:${scene.node.statusPort}/status`)
  const status = (await answer.body.json()) as { unhealthyServers: { service: string }[] }
  return status.unhealthyServers.map(({ service: name }) => name).sort()
}

it('C08: with all servers down requests get 503 without a dial, or with failOpen go to all', async (scope) => {
  const down = ['/both', '/open']
  failing({ origin: down, other: down })
  await untilShared(scope, 'both.test', { 503: 4 })
  const before = traffic()
  const answer = await exchange(scope, scene.port, get('both.test', '/traffic'))
  expect([statusOf(answer), valuesOf(answer, 'retry-after')]).toEqual([503, ['1']])
  expect(traffic()).toBe(before)
  await untilShared(scope, 'open.test', { origin: 3, other: 3 })
  failing({ origin: down })
  await untilShared(scope, 'both.test', { other: 6 })
  await untilShared(scope, 'open.test', { other: 6 })
  failing({})
  await untilShared(scope, 'both.test', { origin: 3, other: 3 })
})

function traffic(): number {
  const all = [...scene.origin.requests, ...scene.other.requests]
  return all.filter(({ target }) => target === '/traffic').length
}

it('C09: a server that recovers gets something at first and its share in the end', async (scope) => {
  failing({})
  await untilShared(scope, 'slow.test', { origin: 10, other: 10 })
  failing({ other: ['/slow'] })
  await untilShared(scope, 'slow.test', { origin: 20 })
  failing({})
  const shares: number[] = []
  const isWhole = async () => {
    const { other = 0 } = await share(scope, 'slow.test', 20)
    shares.push(other)
    return other
  }
  await expect.poll(isWhole, { timeout: 15_000 }).toBe(10)
  // One of them may be of the turn itself; a share that is whole at once has no second one.
  const rising = shares.filter((one) => one > 0 && one < 10)
  expect(rising.length).toBeGreaterThan(1)
})
