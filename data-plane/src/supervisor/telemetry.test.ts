import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CounterBatch } from '@sluice/proto'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { TrafficDelta } from '../worker-protocol.ts'
import { Telemetry } from './telemetry.ts'
import { TelemetrySpool } from './telemetry-spool.ts'
import { countRequests } from './traffic-table.ts'

const logger = pino({ level: 'silent' })

/** Stores each batch once by boot and sequence, like a control plane. */
class Store {
  isOpen = true
  readonly batches = new Map<string, CounterBatch>()
  readonly sent: CounterBatch[] = []

  sendCounters(batch: CounterBatch): void {
    this.sent.push(batch)
  }

  /** Stores the last batch that was sent, and tells the node or not. */
  store(telemetry: Telemetry, isAcknowledged = true): void {
    const batch = this.sent.at(-1)
    if (batch === undefined) throw new Error('nothing was sent')
    const key = `${batch.bootId}/${batch.sequence}`
    if (!this.batches.has(key)) this.batches.set(key, batch)
    if (isAcknowledged) telemetry.stored(batch.bootId, batch.sequence)
  }

  get requests(): number {
    return [...this.batches.values()].reduce((sum, batch) => sum + countRequests(batch), 0)
  }
}

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-telemetry-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

function open(bootId: string, sender: Store): Telemetry {
  const spool = new TelemetrySpool(folder, logger)
  return new Telemetry({ bootId, sender, logger, spool, now: () => 0 })
}

function traffic(requests: number, minuteMs = 60_000, router = 'r'): TrafficDelta {
  return {
    minuteMs,
    router,
    service: 's',
    requests: Float64Array.of(0, requests, 0, 0, 0, 0),
    bytesIn: requests * 10,
    bytesOut: requests * 100,
    latency: Uint32Array.of(5, requests),
    latencySumUs: requests * 5,
    firstByte: Uint32Array.of(4, 2),
    firstByteSumUs: 8,
    breakdown: Uint32Array.of(1, 2, 7, 3),
    retries: 1,
  }
}

it('merges reports into one batch and numbers batches from one', () => {
  const store = new Store()
  const telemetry = open('boot', store)
  telemetry.add([traffic(2)])
  telemetry.add([traffic(3)])
  telemetry.tick()
  telemetry.add([traffic(1)])
  telemetry.tick()
  store.store(telemetry)
  telemetry.tick()
  expect(store.sent.map(({ sequence, rows }) => [sequence, rows.length])).toEqual([
    [1n, 1],
    [2n, 1],
  ])
  expect(store.sent[0]?.rows[0]).toEqual({
    minuteMs: 60_000n,
    router: 'r',
    service: 's',
    requests: {
      informational: 0n,
      success: 5n,
      redirection: 0n,
      clientError: 0n,
      serverError: 0n,
      none: 0n,
    },
    bytesIn: 50n,
    bytesOut: 500n,
    latency: { indexDeltas: [5], counts: [5n], sumUs: 25n },
    firstByte: { indexDeltas: [4], counts: [4n], sumUs: 16n },
    breakdown: { codeDeltas: [1, 6], counts: [4n, 6n] },
    retries: 2n,
  })
})

it('leaves nothing on the disk once all is acknowledged', async () => {
  const store = new Store()
  const telemetry = open('boot', store)
  telemetry.add([traffic(2)])
  telemetry.tick()
  expect(await readdir(join(folder, 'telemetry'))).toEqual(['boot.counters'])
  store.store(telemetry)
  expect(await readdir(join(folder, 'telemetry'))).toEqual([])
})

it('accumulates while the control plane is away, and sends it as one batch', () => {
  const store = new Store()
  store.isOpen = false
  const telemetry = open('boot', store)
  for (let second = 0; second < 100; second += 1) {
    telemetry.add([traffic(1)])
    telemetry.tick()
  }
  store.isOpen = true
  telemetry.connected()
  store.store(telemetry)
  expect(store.sent).toHaveLength(1)
  expect(store.requests).toBe(100)
})

it.each([
  ['was not stored', false],
  ['was stored, but the answer was lost', true],
])('counts a batch once that %s before the stream broke', (_name, isStored) => {
  const store = new Store()
  const telemetry = open('boot', store)
  telemetry.add([traffic(4)])
  telemetry.tick()
  if (isStored) store.store(telemetry, false)
  telemetry.disconnected()
  telemetry.add([traffic(3)])
  telemetry.connected()
  store.store(telemetry)
  telemetry.tick()
  store.store(telemetry)
  expect(store.sent.map(({ sequence }) => sequence)).toEqual([1n, 1n, 2n])
  expect(store.requests).toBe(7)
})

it.each([
  ['was not stored', false],
  ['was stored, but the answer was lost', true],
])('counts once what a killed boot had in flight that %s', (_name, isStored) => {
  const store = new Store()
  const killed = open('first', store)
  killed.add([traffic(4)])
  killed.tick()
  if (isStored) store.store(killed, false)
  killed.add([traffic(3)])
  killed.tick()

  const telemetry = open('second', store)
  telemetry.add([traffic(2)])
  for (let answer = 0; answer < 3; answer += 1) {
    telemetry.tick()
    store.store(telemetry)
  }
  expect(store.sent.slice(1).map(({ bootId, sequence }) => `${bootId} ${sequence}`)).toEqual([
    'first 1',
    'first 2',
    'second 1',
  ])
  expect(store.requests).toBe(9)
})

it('counts once over any sequence of losses, kills and reconnects', async () => {
  const store = new Store()
  let random = 12_345
  const chance = (share: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
    return random / 2_147_483_648 < share
  }
  let counted = 0
  let boots = 1
  let telemetry = open('boot-1', store)
  for (let step = 0; step < 1_000; step += 1) {
    telemetry.add([traffic(1 + (step % 3), 60_000 * (step % 5), `r${step % 7}`)])
    counted += 1 + (step % 3)
    store.isOpen = chance(0.7)
    const sentBefore = store.sent.length
    telemetry.tick()
    if (store.sent.length > sentBefore) {
      if (chance(0.8)) store.store(telemetry, chance(0.7))
      if (chance(0.3)) telemetry.disconnected()
    }
    if (chance(0.02)) {
      // Stopped and started: its flush is cut off, what is left is on the disk.
      store.isOpen = false
      telemetry.disconnected()
      await telemetry.flush(0)
      boots += 1
      telemetry = open(`boot-${boots}`, store)
    }
  }
  store.isOpen = true
  telemetry.connected()
  for (let answer = 0; answer < 300 && store.requests < counted; answer += 1) {
    telemetry.tick()
    store.store(telemetry)
  }
  expect(boots).toBeGreaterThan(10)
  expect(store.requests).toBe(counted)
})

it('splits what does not fit one message, and all of it arrives', () => {
  const store = new Store()
  store.isOpen = false
  const telemetry = open('boot', store)
  for (let router = 0; router < 15_000; router += 1) {
    telemetry.add([
      traffic(1, 60_000, `router-with-a-name-of-some-length-that-takes-room-${router}`),
    ])
  }
  store.isOpen = true
  telemetry.connected()
  for (let answer = 0; answer < 10 && store.requests < 15_000; answer += 1) {
    store.store(telemetry)
    telemetry.tick()
  }
  expect(store.batches.size).toBeGreaterThan(1)
  expect(store.requests).toBe(15_000)
})

it('puts a damaged file aside instead of counting from it', async () => {
  const store = new Store()
  const killed = open('first', store)
  store.isOpen = false
  killed.add([traffic(4)])
  killed.tick()
  const path = join(folder, 'telemetry', 'first.counters')
  await writeFile(path, 'sluice-counters-1\nnot what was written')
  store.isOpen = true
  open('second', store).tick()
  expect(store.sent).toEqual([])
  expect(await readdir(join(folder, 'telemetry'))).toEqual(['first.counters.unreadable'])
})

it('flushes until the control plane has everything', async () => {
  const store = new Store()
  const telemetry = open('boot', store)
  telemetry.add([traffic(4)])
  const flushed = telemetry.flush(5_000)
  store.store(telemetry)
  expect(await flushed).toBe(true)
  expect(store.requests).toBe(4)
})

it('gives a refused batch a new number, and counts it once', async () => {
  const store = new Store()
  const telemetry = open('boot', store)
  telemetry.add([traffic(4)])
  telemetry.tick()
  store.store(telemetry)
  telemetry.add([traffic(2)])
  telemetry.tick()
  // A control plane that has lost what it knew of this boot sees a gap.
  store.batches.clear()
  telemetry.refused('a gap', true)
  telemetry.disconnected()
  telemetry.connected()
  const again = store.sent.at(-1)
  expect(again?.sequence).toBe(1n)
  expect(again?.bootId).not.toBe('boot')
  expect(await readdir(join(folder, 'telemetry'))).toEqual([`${again?.bootId}.counters`])
  store.store(telemetry)
  expect(store.requests).toBe(2)
  expect(await readdir(join(folder, 'telemetry'))).toEqual([])
})

it('puts a batch aside that is refused as the first one, and goes on', async () => {
  const store = new Store()
  const telemetry = open('boot', store)
  telemetry.add([traffic(4)])
  telemetry.tick()
  telemetry.refused('not whole minutes', true)
  telemetry.disconnected()
  telemetry.add([traffic(2)])
  telemetry.connected()
  store.store(telemetry)
  expect(store.requests).toBe(2)
  expect(telemetry.requestsRefused).toBe(4)
  expect(await readdir(join(folder, 'telemetry'))).toEqual([
    expect.stringMatching(/^boot\.\d+\.refused$/),
  ])
})

it('does not blame counters for what may be the fault of logs', () => {
  const store = new Store()
  const telemetry = open('boot', store)
  telemetry.add([traffic(4)])
  telemetry.tick()
  telemetry.refused('a line is wrong', false)
  telemetry.disconnected()
  telemetry.connected()
  store.store(telemetry)
  expect(store.requests).toBe(4)
})
