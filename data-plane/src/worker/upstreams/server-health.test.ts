import { execFileSync } from 'node:child_process'
import { ProxyProtocol } from '@sluice/proto'
import { describe, expect, it, vi } from 'vitest'
import { answerOk, type RawOrigin, type RawRequest } from '../../testing/raw-origin.ts'
import { encodeEntryPoint, encodeRouter, encodeService } from '../../testing/resources.ts'
import { GET, Scene, statusOf } from '../../testing/scene.ts'
import type { RunningWorker } from '../../testing/worker.ts'

const scene = new Scene()
const PATIENT = { timeout: 15_000, interval: 20 }
const CHECK = {
  path: '/hc',
  intervalMs: 50,
  timeoutMs: 2_000,
  unhealthyAfter: 2,
  healthyAfter: 2,
  status: 0,
  initiallyUnhealthy: false,
  failOpen: false,
}

interface Checked {
  readonly origin: RawOrigin
  /** What the check gets; 0: no answer. */
  status: number
}

const isProbe = ({ head }: RawRequest) => !head.startsWith('GET / ')
const traffic = ({ origin }: Checked) => origin.requests.filter((one) => !isProbe(one)).length
const probes = ({ origin }: Checked) => origin.requests.filter(isProbe)

async function checked(status = 200): Promise<Checked> {
  const made: Checked = { origin: await scene.origin(), status }
  made.origin.respond = (request) => {
    if (!isProbe(request)) answerOk(request)
    else if (made.status > 0) {
      request.socket.end(`HTTP/1.1 ${made.status} X\r\nContent-Length: 0\r\n\r\n`)
    }
  }
  return made
}

function serve(servers: Checked[], check: Partial<typeof CHECK> = {}, options = {}) {
  const ports = servers.map(({ origin }) => origin.port)
  return scene.serve(ports, { healthCheck: { ...CHECK, ...check }, ...options })
}

const untilUnhealthy = ({ worker }: RunningWorker, count: number) =>
  vi.waitFor(() => expect(worker.gauges.serversUnhealthy).toBe(count), PATIENT)

const notices = ({ messages }: RunningWorker) =>
  messages.flatMap((one) => (one.kind === 'notice' ? [one.notice] : []))

async function ask(port: number, times: number): Promise<number[]> {
  const statuses: number[] = []
  for (let time = 0; time < times; time += 1) statuses.push(statusOf(await scene.ask(port, GET)))
  return statuses
}

describe('a server that fails its check', () => {
  it('gets nothing until it passes again, with one notice for each turn', async () => {
    const [good, bad] = [await checked(), await checked(503)]
    const running = serve([good, bad])
    await untilUnhealthy(running, 1)
    const before = traffic(bad)
    expect(await ask(running.port, 6)).toEqual(Array(6).fill(200))
    expect(traffic(bad)).toBe(before)
    bad.status = 204
    await untilUnhealthy(running, 0)
    await ask(running.port, 4)
    expect(traffic(bad)).toBe(before + 2)
    const fields = { service: 's', server: `127.0.0.1:${bad.origin.port}` }
    expect(notices(running)).toEqual([
      {
        level: 'warn',
        text: 'a server is not healthy',
        fields: { ...fields, reason: 'status 503' },
      },
      { level: 'info', text: 'a server is healthy', fields },
    ])
  })

  it('has failed when its answer comes after timeoutMs', async () => {
    const [good, silent] = [await checked(), await checked(0)]
    const running = serve([good, silent], { timeoutMs: 100 })
    await vi.waitFor(() => expect(notices(running)[0]?.fields.reason).toMatch(/100 ms/), PATIENT)
  })

  it('has passed with the head of an answer whose body never comes', async () => {
    const halting = await checked()
    halting.origin.respond = ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx')
    }
    const running = serve([halting], { initiallyUnhealthy: true })
    await vi.waitFor(() => expect(running.worker.gauges.serversHealthy).toBe(1), PATIENT)
    const count = probes(halting).length
    await vi.waitFor(() => expect(probes(halting).length).toBeGreaterThan(count + 2), PATIENT)
    expect(halting.origin.openCount).toBeLessThan(3)
  })

  it('stays in turn after fewer failures in a row than unhealthyAfter', async () => {
    const flapping = await checked()
    const running = serve([flapping])
    for (let turn = 0; turn < 3; turn += 1) {
      const count = probes(flapping).length
      const answer = flapping.origin.respond
      flapping.origin.respond = (request) => {
        if (!isProbe(request)) return
        request.socket.end('HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n')
        flapping.origin.respond = answer
      }
      await vi.waitFor(() => expect(probes(flapping).length).toBeGreaterThan(count + 2), PATIENT)
    }
    expect(notices(running)).toEqual([])
  })

  it('has failed with another status than the one that is asked for', async () => {
    const running = serve([await checked(200)], { status: 204 })
    await untilUnhealthy(running, 1)
  })

  it('keeps its state and its probes through a version that leaves it as it is', async () => {
    const bad = await checked(503)
    const running = serve([bad], { intervalMs: 60_000, unhealthyAfter: 1 })
    await untilUnhealthy(running, 1)
    for (let version = 2n; version < 8n; version += 1n) {
      const resources = [
        encodeEntryPoint('web'),
        encodeRouter('r', 's', { hosts: ['a.test'] }),
        encodeService('s', [bad.origin.port], {
          healthCheck: { ...CHECK, intervalMs: 60_000, unhealthyAfter: 1 },
          queueMax: Number(version),
        }),
      ]
      running.worker.configure({ kind: 'configure', version, hash: '', removed: [], resources })
      expect(await ask(running.port, 1)).toEqual([503])
    }
    expect(probes(bad).length).toBe(1)
    expect(traffic(bad)).toBe(0)
  })
})

describe('a service without a healthy server', () => {
  it('answers 503 with Retry-After and dials nobody', async () => {
    const bad = await checked(503)
    const running = serve([bad], { initiallyUnhealthy: true })
    await vi.waitFor(() => expect(probes(bad).length).toBeGreaterThan(0), PATIENT)
    const answer = await scene.ask(running.port, GET)
    expect(answer).toMatch(/^HTTP\/1.1 503 /)
    expect(answer).toContain('\r\nRetry-After: 1\r\n')
    expect(traffic(bad)).toBe(0)
  })

  it('uses all of them with failOpen', async () => {
    const both = [await checked(503), await checked(503)]
    const running = serve(both, { failOpen: true })
    await untilUnhealthy(running, 2)
    const before = both.map(traffic)
    expect(await ask(running.port, 4)).toEqual(Array(4).fill(200))
    expect(both.map((one, at) => traffic(one) - (before[at] ?? 0))).toEqual([2, 2])
  })
})

it('a probe is of the server itself, at once, and says so to one that is told its clients', async () => {
  const server = await checked()
  const headers: string[] = []
  server.origin.onConnectionStart = (header) => headers.push(header)
  serve([server], { intervalMs: 60_000 }, { proxyProtocol: ProxyProtocol.V1 })
  await vi.waitFor(() => expect(probes(server).length).toBe(1), PATIENT)
  expect(headers).toEqual(['PROXY UNKNOWN'])
  expect(probes(server)[0]?.head).toMatch(/^GET \/hc HTTP\/1.1\r\n/)
  expect(probes(server)[0]?.head).toMatch(new RegExp(`host: 127.0.0.1:${server.origin.port}`, 'i'))
})

it('leaves node:http to workers with checks, since it costs memory', () => {
  const worker = new URL('../worker.ts', import.meta.url)
  const program = `await import('${worker}'); console.log(process.moduleLoadList.includes('NativeModule http'))`
  const args = ['--input-type=module', '--eval', program]
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('false\n')
})
