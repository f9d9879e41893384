import { join } from 'node:path'
import { LogLine } from '@sluice/proto'
import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTelemetryDatabase } from '../store/database.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import { logs } from '../telemetry/testing/batches.ts'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeAll(async () => {
  api = await RunningControlPlane.start()
})

afterAll(() => api.remove())

/** As the control plane stores them, while it is stopped. */
async function storeLines(paths: readonly string[]): Promise<void> {
  await api.stop()
  const db = await openTelemetryDatabase(join(api.dataDir, 'telemetry.db'))
  const log = { error: () => {}, warn: () => {} }
  const nodes = { nodeNames: async () => [] }
  const telemetry = await Telemetry.open({ db, nodes, now: Date.now, log })
  const timeMs = BigInt(Date.now())
  const lines = paths.map((path) => ({ ...LogLine.create(), timeMs, path }))
  await telemetry.storeLogs('n', logs(1, lines))
  await telemetry.close()
  await db.destroy()
  await api.startAgain()
}

it('exports all lines of a choice as NDJSON, however many pages they are', async () => {
  const paths = Array.from({ length: 2_500 }, (_, line) => (line % 2 === 0 ? '/a' : '/b') + line)
  await storeLines(paths)
  const exported = await api.get('/logs/export?path=/a')
  expect([exported.status, exported.contentType]).toEqual([200, 'application/x-ndjson'])
  const lines = exported.text.split('\n').slice(0, -1)
  const expected = paths.filter((path) => path.startsWith('/a')).toReversed()
  expect(lines.map((line) => JSON.parse(line).path)).toEqual(expected)
})

it('ends what is followed when it stops', async () => {
  const { statusCode, headers, body } = await request(`${api.origin}/api/v1/logs/follow`, {
    headers: { authorization: `Bearer ${api.token}` },
  })
  expect([statusCode, headers['content-type']]).toEqual([200, 'text/event-stream'])
  const text = body.text()
  await api.stop()
  expect(await text).toMatch(/^: following\n\n/)
})
