import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LogBatch, LogLine } from '@sluice/proto'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { limits } from './limits.ts'
import { LogQueue } from './log-queue.ts'
import { LogSpool } from './log-spool.ts'

const logger = pino({ level: 'silent' })

class Sender {
  isOpen = true
  readonly sent: LogBatch[] = []

  sendLogs(batch: LogBatch): void {
    this.sent.push(batch)
  }
}

function lines(count: number, path = '/'): LogLine[] {
  return Array.from({ length: count }, () => ({ ...LogLine.decode(new Uint8Array()), path }))
}

it('sends one batch at a time and the rest together after the answer', () => {
  const sender = new Sender()
  const queue = new LogQueue({ bootId: 'boot', sender, logger, carried: [] })
  queue.add({ lines: lines(2), notKept: 5 })
  queue.tick()
  queue.add({ lines: lines(1), notKept: 1 })
  queue.add({ lines: lines(1), notKept: 0 })
  queue.tick()
  expect(sender.sent).toHaveLength(1)
  queue.stored('boot', 1n)
  expect(
    sender.sent.map(({ sequence, lines, notKept }) => [sequence, lines.length, notKept]),
  ).toEqual([
    [1n, 2, 5n],
    [2n, 2, 1n],
  ])
})

it('sends the batch in flight again, as it was, on a new stream', () => {
  const sender = new Sender()
  const queue = new LogQueue({ bootId: 'boot', sender, logger, carried: [] })
  queue.add({ lines: lines(1), notKept: 0 })
  queue.tick()
  queue.disconnected()
  queue.add({ lines: lines(1), notKept: 0 })
  queue.connected()
  expect(sender.sent[1]).toBe(sender.sent[0])
})

it('drops the oldest lines at its bound and counts them as not kept', () => {
  const sender = new Sender()
  sender.isOpen = false
  const queue = new LogQueue({ bootId: 'boot', sender, logger, carried: [] })
  const seconds = limits.logLinesQueuedMax / 1_000 + 2
  for (let second = 0; second < seconds; second += 1) {
    queue.add({ lines: lines(1_000), notKept: 3 })
    queue.tick()
  }
  expect(queue.waiting).toBe(limits.logLinesQueuedMax)
  expect(queue.dropped).toBe(2_000)
  sender.isOpen = true
  queue.tick()
  const [batch] = sender.sent
  expect((batch?.lines.length ?? 0) + Number(batch?.notKept)).toBe(seconds * 1_003)
})

it('keeps a batch within its bound in bytes', () => {
  const sender = new Sender()
  const queue = new LogQueue({ bootId: 'boot', sender, logger, carried: [] })
  queue.add({ lines: lines(1_000, '/'.repeat(4_000)), notKept: 0 })
  queue.tick()
  for (let sequence = 1n; queue.waiting > 0; sequence += 1n) queue.stored('boot', sequence)
  expect(sender.sent.reduce((sum, batch) => sum + batch.lines.length, 0)).toBe(1_000)
  expect(sender.sent.length).toBeGreaterThanOrEqual(4)
})

it('counts the lines of a refused batch as not kept and starts with new numbers', () => {
  const sender = new Sender()
  const queue = new LogQueue({ bootId: 'boot', sender, logger, carried: [] })
  queue.add({ lines: lines(2), notKept: 5 })
  queue.tick()
  queue.refused('a gap')
  queue.connected()
  const [first, second] = sender.sent
  expect(second).toMatchObject({ sequence: 1n, lines: [], notKept: 7n })
  expect(second?.bootId).not.toBe(first?.bootId)
})

it('hands on what it could not deliver, and the next boot sends it first', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-logs-'))
  const sender = new Sender()
  const first = new LogQueue({ bootId: 'first', sender, logger, carried: [] })
  first.add({ lines: lines(2), notKept: 1 })
  first.tick()
  first.disconnected()
  sender.isOpen = false
  first.add({ lines: lines(1), notKept: 4 })
  expect(await first.flush(1_000)).toBe(false)
  new LogSpool(folder, logger).save(first.takeAll())

  sender.isOpen = true
  const carried = new LogSpool(folder, logger).take()
  const second = new LogQueue({ bootId: 'second', sender, logger, carried })
  second.add({ lines: lines(1), notKept: 0 })
  second.connected()
  second.stored('first', 1n)
  second.stored('first', 2n)
  second.stored('second', 1n)
  expect(
    sender.sent.slice(1).map(({ bootId, lines, notKept }) => [bootId, lines.length, notKept]),
  ).toEqual([
    ['first', 2, 1n],
    ['first', 1, 4n],
    ['second', 1, 0n],
  ])
  expect(new LogSpool(folder, logger).take()).toEqual([])
  await rm(folder, { recursive: true })
})
