/** A worker process that may open few files. */
import { setInterval } from 'node:timers/promises'
import { Outcome } from '@sluice/proto'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type LimitChanges, limits } from '../limits.ts'
import { RawClient, RawOrigin, type Respond } from '../testing/raw-origin.ts'
import {
  encodeEntryPoint,
  encodeRouter,
  encodeService,
  encodeSettings,
} from '../testing/resources.ts'
import { GET, statusOf } from '../testing/scene.ts'
import { WorkerInProcess } from '../testing/worker-process.ts'

const DESCRIPTORS = 256
/** For what takes a moment, unless the machine is busy. */
const PATIENT = { timeout: 10_000 }
const ROOM = DESCRIPTORS - limits.descriptorsReserved

const atEnd: (() => unknown)[] = []
afterEach(async () => {
  for (const end of atEnd.splice(0).reverse()) await end()
})

async function start(respond?: Respond, limits: LimitChanges = {}) {
  const server = await RawOrigin.start(respond ?? (({ socket }) => socket.write(OK)))
  atEnd.push(() => server.stop())
  const resources = [
    encodeEntryPoint('web'),
    encodeRouter('r', 's', { hosts: ['a.test'] }),
    encodeService('s', [server.port], { firstByteMs: 60_000 }),
    encodeSettings(1_000),
  ]
  const worker = await WorkerInProcess.start(resources, { descriptorsMax: DESCRIPTORS, limits })
  atEnd.push(() => worker.stop())
  return { server, worker }
}

const NOBODY = 'GET / HTTP/1.1\r\nHost: nobody.test\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

async function open(worker: WorkerInProcess, count: number): Promise<RawClient[]> {
  const clients = await Promise.all(
    Array.from({ length: count }, () => RawClient.open(worker.port)),
  )
  atEnd.push(() => {
    for (const client of clients) client.close()
  })
  return clients
}

const countOver = (clients: readonly RawClient[]) => clients.filter(({ isOver }) => isOver).length

function warnings(worker: WorkerInProcess) {
  return worker.messages.filter((message) => message.kind === 'notice')
}

/** For a second, with requests on the client's connection. */
async function expectNoSpin(worker: WorkerInProcess, busy: RawClient | undefined): Promise<void> {
  const cpuBefore = worker.cpuSeconds
  const startedAt = performance.now()
  for await (const _tick of setInterval(50)) {
    expect(statusOf((await busy?.answerTo(GET)) ?? '')).toBe(200)
    if (performance.now() - startedAt > 1_000) break
  }
  expect(worker.cpuSeconds - cpuBefore).toBeLessThan(0.2)
}

async function expectRecovery(worker: WorkerInProcess): Promise<void> {
  await vi.waitFor(async () => {
    const [again] = await open(worker, 1)
    const answer = await Promise.race([again?.answerTo(GET), again?.over()])
    expect(statusOf(answer ?? '')).toBe(200)
  }, PATIENT)
}

describe('a worker without descriptors left', () => {
  it('sheds newcomers, serves the others, does not spin, and takes new ones at once after a release', async () => {
    const { worker } = await start()
    const [busy] = await open(worker, 1)
    expect(statusOf((await busy?.answerTo(GET)) ?? '')).toBe(200)
    const early = await open(worker, 249)
    const late = await open(worker, 100)
    // One is the busy client's, one its server's.
    const shed = 349 - (ROOM - 2)
    await vi.waitFor(() => expect(countOver([...early, ...late])).toBe(shed), PATIENT)
    await expectNoSpin(worker, busy)
    for (const client of early) client.close()
    await expectRecovery(worker)
    expect(warnings(worker)).toHaveLength(1)
    expect(worker.isRunning).toBe(true)
    const reports = await worker.stop()
    expect(reports.at(-1)?.gauges.connectionsShed).toBeGreaterThanOrEqual(shed)
  })

  it('does the same when none were kept back', async () => {
    const { worker } = await start(undefined, { descriptorsReserved: 0 })
    const [busy] = await open(worker, 1)
    expect(statusOf((await busy?.answerTo(GET)) ?? '')).toBe(200)
    const clients = await open(worker, 300)
    await vi.waitFor(() => expect(countOver(clients)).toBeGreaterThan(300 - DESCRIPTORS), PATIENT)
    await expectNoSpin(worker, busy)
    for (const client of clients) client.close()
    await expectRecovery(worker)
    expect(worker.isRunning).toBe(true)
  })

  it('answers 503 when a dial finds none, and blames no server for it', async () => {
    const { server, worker } = await start(() => {})
    const clients = await open(worker, ROOM - 1)
    // Accepted, each of them, before any dial takes descriptors: an answer that needs no server says so.
    for (const client of clients) expect(statusOf(await client.answerTo(NOBODY))).toBe(404)
    for (const client of clients) client.received = ''
    for (const client of clients) client.send(GET)
    await vi.waitFor(
      () => expect(clients.some(({ received }) => received !== '')).toBe(true),
      PATIENT,
    )
    await vi.waitFor(() => {
      const answered = clients.filter(({ received }) => received !== '').length
      expect(answered + server.requests.length).toBe(clients.length)
    }, PATIENT)
    const refused = clients.filter(({ received }) => received !== '')
    expect(refused.map(({ received }) => statusOf(received))).toEqual(refused.map(() => 503))
    expect(warnings(worker)).toHaveLength(1)
    server.respond = ({ socket }) => socket.write(OK)
    for (const { socket } of server.requests) socket.write(OK)
    await vi.waitFor(
      () => expect(clients.every(({ received }) => received !== '')).toBe(true),
      PATIENT,
    )
    expect(statusOf((await refused[0]?.answerTo(GET)) ?? '')).toBe(200)
    const lines = (await worker.stop()).flatMap(({ logs }) => [
      ...logs.ordinary.lines,
      ...logs.notable.lines,
    ])
    const outcomes = new Set(lines.map(({ status, outcome }) => `${status} ${outcome}`))
    expect([...outcomes].sort()).toEqual([
      `200 ${Outcome.ORIGIN_ANSWERED}`,
      `404 ${Outcome.PROXY_ANSWERED}`,
      `503 ${Outcome.SHED}`,
    ])
  })
})
