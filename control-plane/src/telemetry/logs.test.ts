import { type LogBatch, Outcome } from '@sluice/proto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { logs } from './testing/batches.ts'
import { dayMs, repeated, startMs, stored, TestTelemetry } from './testing/test-telemetry.ts'

let test: TestTelemetry

beforeEach(async () => {
  test = await TestTelemetry.open()
})

afterEach(() => test.remove())

describe('logs', () => {
  it('are listed newest first with all that was sent', async () => {
    const line = {
      timeMs: BigInt(startMs + 1),
      router: 'shop',
      service: 'backend',
      server: '10.0.0.1:80',
      entryPoint: 'web',
      clientAddress: '192.0.2.1',
      method: 'GET',
      host: 'shop.example',
      path: '/a',
      protocol: 'HTTP/1.1',
      status: 502,
      outcome: Outcome.UPSTREAM_FAILED,
      bytesIn: 100n,
      bytesOut: 200n,
      durationUs: 1_500n,
      firstByteUs: 0n,
      attempts: 2,
      userAgent: 'curl',
      query: 'a=1',
      referrer: 'http://b.example/',
      requestId: 'r-1',
      tlsVersion: 'TLSv1.3',
      weight: 2.5,
    }
    const older = { ...line, timeMs: BigInt(startMs), firstByteUs: 250n }
    expect(await test.telemetry.storeLogs('n-1', logs(1, [line, older]))).toEqual(stored)
    const { items, next } = await test.telemetry.queryLogs({})
    expect(next).toBeNull()
    expect(items).toEqual([
      {
        id: '1',
        time: '2026-06-01T00:00:00.001Z',
        node: 'edge-1',
        router: 'shop',
        service: 'backend',
        server: '10.0.0.1:80',
        entryPoint: 'web',
        clientAddress: '192.0.2.1',
        method: 'GET',
        host: 'shop.example',
        path: '/a',
        protocol: 'HTTP/1.1',
        status: 502,
        outcome: 'upstream-failed',
        bytesIn: 100,
        bytesOut: 200,
        durationMs: 1.5,
        firstByteMs: null,
        attempts: 2,
        userAgent: 'curl',
        country: '',
        query: 'a=1',
        referrer: 'http://b.example/',
        requestId: 'r-1',
        tlsVersion: 'TLSv1.3',
        weight: 2.5,
      },
      expect.objectContaining({ id: '2', firstByteMs: 0.25 }),
    ])
  })

  it('are stored once, however often a batch is sent', async () => {
    const batch = logs(1, [{ timeMs: BigInt(startMs) }])
    expect(await test.telemetry.storeLogs('n-1', batch)).toEqual(stored)
    expect(await test.telemetry.storeLogs('n-1', batch)).toEqual(repeated)
    expect((await test.telemetry.queryLogs({})).items).toHaveLength(1)
  })

  it('are paged without loss or repetition while newer and equal times come in', async () => {
    const lines = Array.from({ length: 25 }, (_, at) => ({
      timeMs: BigInt(startMs + Math.floor(at / 10)),
      path: `/${at}`,
    }))
    await test.telemetry.storeLogs('n-1', logs(1, lines))
    const paths: string[] = []
    let before: string | undefined
    let sequence = 2
    do {
      const page = await test.telemetry.queryLogs({ limit: 7, before })
      paths.push(...page.items.map((item) => item.path))
      before = page.next ?? undefined
      const newer = { timeMs: BigInt(startMs + dayMs), path: '/newer' }
      await test.telemetry.storeLogs('n-1', logs(sequence, [newer]))
      sequence += 1
    } while (before !== undefined)
    expect(paths).toHaveLength(25)
    expect(new Set(paths).size).toBe(25)
    expect(paths.slice(0, 5)).toEqual(['/24', '/23', '/22', '/21', '/20'])
  })

  it('are filtered by node (name or id), router, service, status and time', async () => {
    const at = (ms: number) => BigInt(startMs + ms)
    await test.telemetry.storeLogs('n-1', logs(1, [{ timeMs: at(1), router: 'a', status: 200 }]))
    await test.telemetry.storeLogs('n-2', logs(1, [{ timeMs: at(2), service: 'b', status: 500 }]))
    await test.telemetry.storeLogs('n-0', logs(1, [{ timeMs: at(3), router: 'a', status: 500 }]))
    const ids = async (query: object) =>
      (await test.telemetry.queryLogs(query)).items.map(({ id }) => id).join()
    expect({
      name: await ids({ node: 'edge-1' }),
      id: await ids({ node: 'n-1' }),
      unknown: await ids({ node: 'edge-9' }),
      router: await ids({ router: 'a' }),
      service: await ids({ service: 'b' }),
      status: await ids({ status: '500' }),
      both: await ids({ status: '5xx', router: 'a' }),
      from: await ids({ fromMs: startMs + 2 }),
      to: await ids({ toMs: startMs + 2 }),
      range: await ids({ fromMs: startMs + 2, toMs: startMs + 3 }),
    }).toEqual({
      name: '3,1',
      id: '1',
      unknown: '',
      router: '3,1',
      service: '2',
      status: '3,2',
      both: '3',
      from: '3,2',
      to: '1',
      range: '2',
    })
  })

  it('are found behind many that a filter leaves out', async () => {
    const lines = Array.from({ length: 9_000 }, (_, at) => ({
      timeMs: BigInt(startMs + at),
      router: at % 4_000 === 0 ? 'rare' : 'common',
    }))
    await test.telemetry.storeLogs('n-1', logs(1, lines))
    const { items } = await test.telemetry.queryLogs({ router: 'rare' })
    expect(items.map(({ id }) => id)).toEqual(['8001', '4001', '1'])
  })

  it('keep a bounded length of what clients sent', async () => {
    const line = { timeMs: 1n, path: 'p'.repeat(5_000), userAgent: 'u'.repeat(5_000) }
    await test.telemetry.storeLogs('n-1', logs(1, [line]))
    const [item] = (await test.telemetry.queryLogs({})).items
    expect([item?.path.length, item?.userAgent.length]).toEqual([2_048, 512])
  })

  const wrong: [string, (batch: LogBatch) => void, RegExp][] = [
    ['a weight that is no number', (b) => assign(b.lines[0], { weight: Number.NaN }), /weight/],
    ['a status above 999', (b) => assign(b.lines[0], { status: 1_000 }), /status/],
    ['a duration out of range', (b) => assign(b.lines[0], { durationUs: 2n ** 60n }), /duration/],
    ['a time far ahead', (b) => assign(b.lines[0], { timeMs: 2n ** 60n }), /ahead/],
    ['a router that cannot be one', (b) => assign(b.lines[0], { router: '/' }), /router/],
  ]

  it.each(wrong)('are refused with %s', async (_name, spoil, reason) => {
    const batch = logs(1, [{ timeMs: BigInt(startMs) }])
    spoil(batch)
    expect(await test.telemetry.storeLogs('n-1', batch)).toEqual({
      kind: 'refused',
      reason: expect.stringMatching(reason),
    })
    expect((await test.telemetry.queryLogs({})).items).toEqual([])
  })

  it.each([
    ['limit', { limit: 0 }],
    ['limit', { limit: 1_001 }],
    ['before', { before: 'yesterday' }],
  ])('refuse a bad %s', async (field, query) => {
    await expect(test.telemetry.queryLogs(query)).rejects.toMatchObject({ field })
  })
})

function assign(target: object | undefined, change: object): void {
  Object.assign(target ?? {}, change)
}
