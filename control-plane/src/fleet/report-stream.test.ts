import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { counters, logs, minuteMs } from '../telemetry/testing/batches.ts'
import { TestFleet } from './testing/test-fleet.ts'
import { TestNode } from './testing/test-node.ts'

let fleet: TestFleet
let node: TestNode
let startMs: number

beforeEach(async () => {
  fleet = await TestFleet.start()
  node = await TestNode.enrolled(fleet, 'edge-1')
  startMs = Math.floor(Date.now() / minuteMs) * minuteMs
})

afterEach(async () => {
  node.close()
  await fleet.remove()
})

function batch(sequence: number, success: number) {
  return { $case: 'counters', value: counters(startMs, sequence, [{ success }]) } as const
}

async function total(): Promise<number> {
  const range = { fromMs: startMs - minuteMs, toMs: startMs + 10 * minuteMs }
  const { series } = await fleet.telemetry.queryTraffic({ by: 'node', ...range })
  return series.reduce((sum, { points }) => sum + (points[0]?.requests.total ?? 0), 0)
}

const acknowledged = (sequence: number) => ({
  message: { $case: 'countersStored', value: { bootId: 'boot-1', sequence: BigInt(sequence) } },
})

it('acknowledges each batch after it is stored, counters and logs', async () => {
  const stream = node.report()
  stream.send(batch(1, 5))
  expect(await stream.next()).toEqual(acknowledged(1))
  expect(await total()).toBe(5)
  stream.send({ $case: 'logs', value: logs(1, [{ timeMs: BigInt(startMs), path: '/a' }]) })
  expect(await stream.next()).toEqual({
    message: { $case: 'logsStored', value: { bootId: 'boot-1', sequence: 1n } },
  })
  const { items } = await fleet.telemetry.queryLogs({})
  expect(items).toMatchObject([{ node: 'edge-1', path: '/a' }])
})

it('counts each batch once, with duplicates, lost acknowledgements, reconnects and a restart', async () => {
  let sent = 0
  for (let sequence = 1; sequence <= 12; sequence += 1) {
    const stream = node.report()
    // What a node does that does not know how far it got: all over again from an earlier one.
    for (let again = Math.max(1, sequence - 3); again <= sequence; again += 1) {
      stream.send(batch(again, again))
      stream.send(batch(again, again))
    }
    sent += sequence
    if (sequence % 3 === 0) {
      // The connection breaks before all acknowledgements came.
      await stream.next()
      node.close()
      stream.call.cancel()
    } else {
      while ((await stream.next()).message?.value.sequence !== BigInt(sequence)) {}
      stream.call.end()
    }
    await stream.ended
    if (sequence === 6) {
      await fleet.restart()
    }
  }
  const last = node.report()
  for (let sequence = 9; sequence <= 12; sequence += 1) {
    last.send(batch(sequence, sequence))
  }
  while ((await last.next()).message?.value.sequence !== 12n) {}
  expect(await total()).toBe(sent)
})

it('refuses a batch that breaks a rule and names the field', async () => {
  const stream = node.report()
  const value = counters(startMs + 1, 1, [{ success: 1 }])
  stream.send({ $case: 'counters', value })
  expect(await stream.ended).toEqual([
    status.INVALID_ARGUMENT,
    `rows[0].minute_ms ${startMs + 1} is not a whole minute`,
  ])
  expect(await total()).toBe(0)
})

it('counts for the node of the certificate, whatever boot it names', async () => {
  const other = await TestNode.enrolled(fleet, 'edge-2')
  for (const each of [node, other]) {
    const stream = each.report()
    stream.send(batch(1, 4))
    expect(await stream.next()).toEqual(acknowledged(1))
  }
  other.close()
  const range = { fromMs: startMs, toMs: startMs + minuteMs }
  const { series } = await fleet.telemetry.queryTraffic({ by: 'node', ...range })
  expect(series.map(({ key, points }) => [key, points[0]?.requests.total])).toEqual([
    ['edge-1', 4],
    ['edge-2', 4],
  ])
})

it('refuses the stream of a copied identity while its node is connected', async () => {
  await node.connected()
  const first = node.report()
  await first.accepted
  const copy = node.report()
  expect(await copy.ended).toEqual([
    status.ALREADY_EXISTS,
    'the node "edge-1" reports already on another stream',
  ])
  first.send(batch(1, 1))
  expect(await first.next()).toEqual(acknowledged(1))
})

it('takes a new stream for an old one when no session vouches for that', async () => {
  const first = node.report()
  await first.accepted
  const second = node.report()
  await second.accepted
  expect((await first.ended)[0]).toBe(status.ABORTED)
  second.send(batch(1, 1))
  expect(await second.next()).toEqual(acknowledged(1))
})
