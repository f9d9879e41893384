import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type DnsServer, NXDOMAIN, SERVFAIL, type Zone } from '../../testing/dns-server.ts'
import { answerOk, type RawRequest } from '../../testing/raw-origin.ts'
import { encodeEntryPoint, encodeRouter, encodeService } from '../../testing/resources.ts'
import { GET, Scene, statusOf } from '../../testing/scene.ts'
import type { RunningWorker } from '../../testing/worker.ts'
import { SystemLookup } from './name-lookup.ts'

const scene = new Scene()

const NAME = 'svc.test'
/** More than a time to live of one second, the lookup after it, and the sweep's tick. */
const REFRESHED = { timeout: 4_000, interval: 20 }

let dns: DnsServer
let folder: string
let lookup: SystemLookup

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-names-'))
  dns = await scene.dns()
  lookup = new SystemLookup({ dnsServers: [dns.address], hostsFile: join(folder, 'hosts') })
})

afterEach(() => rm(folder, { recursive: true }))

/** Servers on the same port of several addresses, each answering with its address. */
async function originsOn(...hosts: string[]) {
  const respondAs = (host: string) => (request: RawRequest) => {
    request.socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${host.length}\r\n\r\n${host}`)
  }
  const origins = []
  let port = 0
  for (const host of hosts) {
    const origin = await scene.origin(respondAs(host), host, port)
    port = origin.port
    origins.push(origin)
  }
  return { origins, port }
}

async function answerer(port: number): Promise<string> {
  const client = await scene.client(port)
  client.send(GET)
  await vi.waitFor(() => expect(client.received).toMatch(/\r\n\r\n./), {
    timeout: 5_000,
    interval: 5,
  })
  const answer = client.received
  client.close()
  return statusOf(answer) === 200
    ? answer.slice(answer.indexOf('\r\n\r\n') + 4)
    : answer.slice(9, 12)
}

async function answerers(port: number, count: number): Promise<Record<string, number>> {
  const seen: Record<string, number> = {}
  for (let turn = 0; turn < count; turn += 1) {
    const who = await answerer(port)
    seen[who] = (seen[who] ?? 0) + 1
  }
  return seen
}

function noticesOf(started: RunningWorker) {
  return started.messages
    .filter((message) => message.kind === 'notice')
    .map(({ notice }) => [notice.level, notice.fields.name])
}

describe('a server that is configured by name', () => {
  it('is as many servers as the name has addresses, and shares its weight between them', async () => {
    const { port } = await originsOn('127.0.0.1', '127.0.0.2', '127.0.0.3')
    dns.zones.set(NAME, { addresses: ['127.0.0.1', '127.0.0.2'] })
    const started = scene.serve(
      [
        { url: `http://SVC.test:${port}`, weight: 2 },
        { url: `http://127.0.0.3:${port}`, weight: 2 },
      ],
      {},
      { lookup },
    )
    await vi.waitFor(async () => expect(await answerer(started.port)).not.toBe('127.0.0.3'))
    expect(await answerers(started.port, 12)).toEqual({
      '127.0.0.1': 3,
      '127.0.0.2': 3,
      '127.0.0.3': 6,
    })
  })

  it('has its first requests wait for the first lookup', async () => {
    const { port } = await originsOn('127.0.0.1')
    dns.zones.set(NAME, { addresses: ['127.0.0.1'] })
    const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
    const client = await scene.client(started.port)
    client.send(GET)
    await vi.waitFor(() => expect(client.received).toMatch(/127\.0\.0\.1$/))
  })

  it('takes those who waited for the first lookup to all of its addresses', async () => {
    const { origins, port } = await originsOn('127.0.0.1', '127.0.0.2')
    dns.zones.set(NAME, { addresses: ['127.0.0.1', '127.0.0.2'], isSilent: true })
    const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
    const clients = await Promise.all(Array.from({ length: 10 }, () => scene.client(started.port)))
    for (const client of clients) client.send(GET)
    await vi.waitFor(() => expect(dns.queryCount).toBe(2))
    dns.zones.set(NAME, { addresses: ['127.0.0.1', '127.0.0.2'] })
    await vi.waitFor(
      () => expect(clients.every(({ received }) => received.includes('200 OK'))).toBe(true),
      REFRESHED,
    )
    expect(origins.map(({ requests }) => requests.length)).toEqual([5, 5])
  })

  it('is looked up once in its time to live, however many requests and services there are', async () => {
    const { port } = await originsOn('127.0.0.1')
    dns.zones.set(NAME, { addresses: ['127.0.0.1'], ttlSeconds: 60 })
    const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
    started.worker.configure({
      kind: 'configure',
      version: 2n,
      hash: '',
      removed: [],
      resources: [
        encodeEntryPoint('web'),
        encodeRouter('r', 's', { hosts: ['a.test'] }),
        encodeService('s', [`http://${NAME}:${port}`]),
        encodeService('t', [`http://${NAME}:1`]),
      ],
    })
    expect(await answerers(started.port, 50)).toEqual({ '127.0.0.1': 50 })
    // One question for each family.
    expect(dns.queryCount).toBe(2)
  })

  it('follows a new address: idle connections to the old one end, active ones finish', async () => {
    const { origins, port } = await originsOn('127.0.0.1', '127.0.0.2')
    const [old] = origins
    dns.zones.set(NAME, { addresses: ['127.0.0.1'] })
    const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
    expect(await answerer(started.port)).toBe('127.0.0.1')
    const held: RawRequest[] = []
    const respond = old?.respond ?? answerOk
    if (old !== undefined) old.respond = (request) => held.push(request)
    const slow = await scene.client(started.port)
    slow.send(GET)
    await vi.waitFor(() => expect(held.length).toBe(1))
    if (old !== undefined) old.respond = respond
    dns.zones.set(NAME, { addresses: ['127.0.0.2'] })
    await vi.waitFor(async () => expect(await answerer(started.port)).toBe('127.0.0.2'), REFRESHED)
    await vi.waitFor(() => expect(old?.openCount).toBe(1))
    for (const request of held) answerOk(request)
    await vi.waitFor(() => expect(slow.received).toMatch(/ok$/))
    await vi.waitFor(() => expect(old?.openCount).toBe(0))
    expect(await answerers(started.port, 5)).toEqual({ '127.0.0.2': 5 })
  })

  it.each<[string, Zone]>([
    ['SERVFAIL', SERVFAIL],
    ['NXDOMAIN', NXDOMAIN],
    ['nothing in its answer', {}],
  ])('keeps its last addresses while DNS says %s, which is reported once', async (_name, zone) => {
    const { port } = await originsOn('127.0.0.1')
    dns.zones.set(NAME, { addresses: ['127.0.0.1'] })
    const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
    expect(await answerer(started.port)).toBe('127.0.0.1')
    dns.zones.set(NAME, zone)
    await vi.waitFor(() => expect(noticesOf(started)).toEqual([['warn', NAME]]), REFRESHED)
    expect(await answerers(started.port, 3)).toEqual({ '127.0.0.1': 3 })
    const before = dns.queryCount
    await vi.waitFor(() => expect(dns.queryCount).toBeGreaterThan(before), REFRESHED)
    expect(await answerers(started.port, 3)).toEqual({ '127.0.0.1': 3 })
    expect(noticesOf(started)).toEqual([['warn', NAME]])
    const { gauges } = (await started.stop()).at(-1) ?? {}
    expect(gauges?.namesFailing).toBe(1)
    expect(gauges?.nameLookupsFailed).toBeGreaterThanOrEqual(1)
  })

  it('that nobody knows gives 503 for its service alone, until it is known', async () => {
    const { port } = await originsOn('127.0.0.1')
    const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
    started.worker.configure({
      kind: 'configure',
      version: 2n,
      hash: '',
      removed: [],
      resources: [
        encodeEntryPoint('web'),
        encodeRouter('r', 's', { hosts: ['a.test'] }),
        encodeService('s', [`http://${NAME}:${port}`]),
        encodeRouter('q', 't', { hosts: ['b.test'] }),
        encodeService('t', [port]),
      ],
    })
    expect(await answerer(started.port)).toBe('503')
    const other = await scene.ask(started.port, GET.replace('a.test', 'b.test'))
    expect(statusOf(other)).toBe(200)
    dns.zones.set(NAME, { addresses: ['127.0.0.1'] })
    await vi.waitFor(async () => expect(await answerer(started.port)).toBe('127.0.0.1'), REFRESHED)
    expect(noticesOf(started)).toEqual([
      ['warn', NAME],
      ['info', NAME],
    ])
  })

  it('of the hosts file is not asked for in DNS', async () => {
    const { port } = await originsOn('127.0.0.1', '127.0.0.2')
    await writeFile(join(folder, 'hosts'), `# a comment\n127.0.0.2\tother ${NAME} # and this\n`)
    dns.zones.set(NAME, { addresses: ['127.0.0.1'] })
    const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
    expect(await answerers(started.port, 4)).toEqual({ '127.0.0.2': 4 })
    expect(dns.queryCount).toBe(0)
  })

  it('localhost is the loopback without any hosts file', async () => {
    const { port } = await originsOn('127.0.0.1')
    const started = scene.serve([`http://localhost:${port}`], {}, { lookup })
    expect(await answerers(started.port, 2)).toEqual({ '127.0.0.1': 2 })
    expect(dns.queryCount).toBe(0)
  })
})

describe('a name of both families', () => {
  async function timed(port: number): Promise<{ ms: number; who: string }> {
    const startedAt = performance.now()
    const who = await answerer(port)
    return { ms: performance.now() - startedAt, who }
  }

  /** Below the race with the other family. A busy machine spoils some tries, a race that is awaited all of them. */
  const AT_ONCE_MS = 200
  const TRIES = 5

  const BOTH = { addresses: ['127.0.0.1', '::1'] }

  it('is used by IPv6 where that connects', async () => {
    const { port } = await originsOn('127.0.0.1', '::1')
    dns.zones.set(NAME, BOTH)
    const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
    expect(await answerers(started.port, 4)).toEqual({ '::1': 4 })
  })

  it('is used by IPv4 soon after IPv6 hangs, and from then on at once', async () => {
    const hole = await scene.blackHole('::1')
    const origin = await scene.origin(answerOk, '127.0.0.1', hole.port)
    dns.zones.set(NAME, BOTH)
    const started = scene.serve([`http://${NAME}:${origin.port}`], { connectMs: 5_000 }, { lookup })
    const first = await timed(started.port)
    expect(first.who).toBe('ok')
    expect(first.ms).toBeGreaterThan(AT_ONCE_MS)
    expect(first.ms).toBeLessThan(4_500)
    const later: number[] = []
    for (let turn = 0; turn < TRIES; turn += 1) {
      origin.closeConnections()
      const { ms, who } = await timed(started.port)
      expect(who).toBe('ok')
      later.push(ms)
    }
    expect(Math.min(...later)).toBeLessThan(AT_ONCE_MS)
  })

  it('is used by IPv4 at once where IPv6 refuses', async () => {
    const { port } = await originsOn('127.0.0.1')
    dns.zones.set(NAME, BOTH)
    const firsts: number[] = []
    for (let turn = 0; turn < TRIES; turn += 1) {
      const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
      const { ms, who } = await timed(started.port)
      expect(who).toBe('127.0.0.1')
      firsts.push(ms)
      await started.stop()
    }
    expect(Math.min(...firsts)).toBeLessThan(AT_ONCE_MS)
  })

  it('goes back to IPv6 when IPv4 fails', async () => {
    const { origins, port } = await originsOn('127.0.0.1')
    dns.zones.set(NAME, BOTH)
    const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
    expect(await answerer(started.port)).toBe('127.0.0.1')
    origins[0]?.stop()
    await scene.origin(answerOk, '::1', port)
    expect(await answerers(started.port, 3)).toEqual({ ok: 3 })
  })

  it('is known when the lookup of one family fails', async () => {
    const { port } = await originsOn('127.0.0.1')
    dns.zones.set(NAME, { addresses: ['127.0.0.1'], errors: { ipv6: 2 } })
    const started = scene.serve([`http://${NAME}:${port}`], {}, { lookup })
    expect(await answerer(started.port)).toBe('127.0.0.1')
    expect(noticesOf(started)).toEqual([])
  })
})
