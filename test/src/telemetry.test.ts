/** What is counted and what is kept of it as log lines. */
import { request } from 'undici'
import { expect } from 'vitest'
import type { LogItem, Traffic } from './harness/api-client.ts'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { type Fleet, startFleet } from './harness/fleet.ts'
import { startLoad } from './harness/load/start-load.ts'
import { ScriptedOrigin, say } from './harness/origins/scripted-origin.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import { freePort } from './harness/ports.ts'
import { exchange, get, RawClient } from './harness/raw-client.ts'
import { routeTo } from './harness/routes.ts'

const { it, suite, before } = claims()
const PER_SECOND = 10
let fleet: Fleet

before(async () => {
  fleet = await startFleet(suite, { workers: 2 })
})

it('a node keeps at most its cap of log lines in any second, and their weights add up to the requests', async (scope) => {
  const origin = await startEchoOrigin(scope, 'echo')
  const host = await routeTo(fleet, [origin])
  const router = host.replace('.test', '')
  const startedAt = Date.now()
  const load = startLoad(scope, {
    port: fleet.node.port(),
    host,
    connections: 16,
    work: 'small',
    path: '/x',
    expected: 'echo /x',
    requestsMax: 4_000,
    requestsPerSecondMax: 1_000,
  })
  const { sent, failures } = await load.result()
  expect(failures).toEqual([])
  const endedAt = Date.now()
  const lines = await eventually(
    async () => {
      const found = await linesOf(router)
      return weightOf(found) > sent - 0.001 ? found : undefined
    },
    { withinMs: 15_000, that: `weights adding up to ${sent}` },
  )
  expect(weightOf(lines)).toBeCloseTo(sent, 3)
  const seconds = secondAt(endedAt) - secondAt(startedAt) + 1
  expect(lines.length).toBeLessThanOrEqual(PER_SECOND * seconds)
  // Spread over the time of the load, not all from its beginning.
  const used = new Set(lines.map((line) => secondAt(Date.parse(line.time))))
  expect(used.size).toBeGreaterThanOrEqual(seconds - 2)
})

it('failures are kept among many ordinary requests', async (scope) => {
  const origin = await startEchoOrigin(scope, 'echo')
  const host = await routeTo(fleet, [origin])
  const failing = await routeTo(fleet, [await freePort()])
  const plan = { host, connections: 8, work: 'small', path: '/x', expected: 'echo /x' } as const
  const load = startLoad(scope, { ...plan, port: fleet.node.port(), requestsPerSecondMax: 500 })
  await load.untilMore(300)
  await exchange(scope, fleet.node.port(), get(failing, '/fails'))
  await load.untilMore(300)
  await load.stop()
  const lines = await eventually(
    async () => {
      const found = await linesOf(failing.replace('.test', ''))
      return found.length > 0 ? found : undefined
    },
    { withinMs: 10_000, that: 'the line of the failure' },
  )
  expect(lines).toEqual([
    expect.objectContaining({ status: 502, outcome: 'upstream-failed', path: '/fails', weight: 1 }),
  ])
})

it('every status class, both directions of bytes and each latency is counted, by router and service', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const router = host.replace('.test', '')
  const client = await RawClient.open(scope, fleet.node.port())
  const statuses = [200, 204, 301, 404, 404, 500]
  for (const status of statuses) {
    const length = status === 204 ? '' : 'Content-Length: 0\r\n'
    origin.answer = say(`HTTP/1.1 ${status} X\r\n${length}\r\n`)
    await client.send(get(host, '/')).answer()
  }
  const point = await eventually(
    async () => {
      const path = '/api/v1/analytics/traffic?by=router'
      const { series } = await fleet.api.get<Traffic>(path)
      const [first] = series.find((one) => one.key === router)?.points ?? []
      return first?.requests.total === statuses.length ? first : undefined
    },
    { withinMs: 10_000, that: `${statuses.length} requests counted` },
  )
  expect(point.requests).toEqual({
    total: 6,
    informational: 0,
    success: 2,
    redirection: 1,
    clientError: 2,
    serverError: 1,
    none: 0,
  })
  expect(point.latency.count).toBe(6)
  expect(point.bytesIn).toBe(get(host, '/').length * 6)
  expect(point.bytesOut).toBe(client.received.length)
})

it('requests that no router takes are counted under the empty router', async (scope) => {
  const counted = async () => {
    const { series } = await fleet.api.get<Traffic>('/api/v1/analytics/traffic?by=router')
    return series.find((one) => one.key === '')?.points[0]?.requests.clientError ?? 0
  }
  const before = await counted()
  await exchange(scope, fleet.node.port(), get('nobody.test', '/'))
  await eventually(async () => (await counted()) === before + 1, {
    withinMs: 10_000,
    that: 'one more request counted',
  })
})

it('lines can be followed, and more of them asked for, for a while', async (scope) => {
  const origin = await startEchoOrigin(scope, 'echo')
  const host = await routeTo(fleet, [origin])
  const router = host.replace('.test', '')
  const raise = { perSecond: 400, seconds: 60 }
  expect(await fleet.api.post('/api/v1/logs/raise', raise)).toMatchObject({ perSecond: 400 })
  const follow = await request(`${fleet.api.origin}/api/v1/logs/follow?router=${router}`, {
    headers: { authorization: `Bearer ${fleet.api.token}` },
    signal: AbortSignal.timeout(60_000),
  })
  const plan = { host, connections: 8, work: 'small', path: '/x', expected: 'echo /x' } as const
  const port = fleet.node.port()
  const load = startLoad(scope, { ...plan, port, requestsPerSecondMax: 200 })
  let text = ''
  for await (const chunk of follow.body) {
    text += chunk
    // A second may have up to the cap without the raise, so far more than that tells of the raise.
    if (linesIn(text).length > 30 * PER_SECOND) break
  }
  await load.stop()
  const seconds = new Map<number, number>()
  for (const { time, path } of linesIn(text)) {
    expect(path).toBe('/x')
    const second = secondAt(Date.parse(time))
    seconds.set(second, (seconds.get(second) ?? 0) + 1)
  }
  expect(Math.max(...seconds.values())).toBeGreaterThan(5 * PER_SECOND)
  await fleet.api.call('DELETE', '/api/v1/logs/raise')
  expect(await fleet.api.get('/api/v1/logs/raise')).toEqual({ raises: [] })
})

it('analytics know the method, protocol and outcome of each request', async (scope) => {
  const origin = await startEchoOrigin(scope, 'echo')
  const host = await routeTo(fleet, [origin])
  const router = host.replace('.test', '')
  await exchange(scope, fleet.node.port(), get(host, '/x'))
  const asked = `/api/v1/analytics?router=${router}&by=method&by=outcome&protocol=http/1.1`
  const series = await eventually(
    async () => {
      const answer = await fleet.api.get<{ series: unknown[] }>(asked)
      return answer.series.length > 0 ? answer.series : undefined
    },
    { withinMs: 10_000, that: 'the request counted' },
  )
  expect(series).toEqual([
    {
      key: { method: 'read', outcome: 'origin-answered' },
      points: [expect.objectContaining({ requests: 1, errors: 0 })],
    },
  ])
  const whole = await fleet.api.get<{ series: { points: object[] }[] }>(
    `/api/v1/analytics?router=${router}`,
  )
  expect(whole.series[0]?.points[0]).toMatchObject({
    requests: 1,
    latency: { count: 1 },
    firstByte: { count: 1 },
  })
})

it('a setting of 0 keeps no lines, and counting goes on', async (scope) => {
  const other = await startFleet(scope)
  await other.api.put('/api/v1/settings', { logs: { perSecondPerNode: 0 } })
  await other.untilInSync((await other.status()).version)
  await exchange(scope, other.node.port(), get('nobody.test', '/'))
  const counted = async () =>
    (await other.api.get<Traffic>('/api/v1/analytics/traffic?by=node')).series.length === 1
  await eventually(counted, { withinMs: 10_000, that: 'the request counted' })
  expect(await other.api.get('/api/v1/logs')).toMatchObject({ items: [] })
})

async function linesOf(router: string): Promise<readonly LogItem[]> {
  const page = await fleet.api.get<{ items: LogItem[] }>(`/api/v1/logs?limit=1000&router=${router}`)
  return page.items
}

/** Of the events that are whole. */
function linesIn(text: string): LogItem[] {
  return [...text.matchAll(/^event: lines\ndata: (.*)\n\n/gm)].flatMap(([, data]) =>
    JSON.parse(data ?? '[]'),
  )
}

function weightOf(lines: readonly LogItem[]): number {
  return lines.reduce((sum, line) => sum + line.weight, 0)
}

function secondAt(timeMs: number): number {
  return Math.floor(timeMs / 1000)
}
