import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import type { LoadPlan, LoadResult } from '../load-plan.ts'
import { Generator, type GeneratorOptions } from './generator.ts'
import { decodeHistogram } from './histogram-text.ts'
import { type Answer, answerOf, BODY_BYTES, startOrigin } from './origin.fixture.ts'

const OK = answerOf(200)
const answerOk: Answer = (socket) => socket.write(OK)

const PLAN: LoadPlan = {
  targets: [],
  requests: [{ method: 'GET', path: '/a?b=1', host: 'one.test' }],
  connections: 8,
  schedule: { kind: 'constant', perSecond: 800, seconds: 0.5 },
  warmUpSeconds: 0,
  pace: 'tick',
  assign: 'shared',
  deadlineMs: 0,
  timeoutMs: 10_000,
  isConnectionPerRequest: false,
  expected: { status: 200, bodyBytes: BODY_BYTES, bodyPattern: 'x' },
  sourceAddresses: [],
}

/** What is due is sent, however slow the machine is; a starved one may need longer than its share. */
const PATIENT = { lastSendMs: 10_000 }

async function run(
  answer: Answer,
  plan: Partial<LoadPlan> = {},
  options: GeneratorOptions = PATIENT,
): Promise<LoadResult> {
  await using origin = await startOrigin(answer)
  const targets = [targetOf(origin.port)]
  const generator = new Generator({ ...PLAN, ...plan, targets }, options)
  return await generator.run()
}

function targetOf(port: number): LoadPlan['targets'][number] {
  return { address: '127.0.0.1', port }
}

function ended({ ok, otherStatuses, errors, shed, unsent }: LoadResult): number {
  const others = [...Object.values(otherStatuses), ...Object.values(errors)]
  return others.reduce((sum, count) => sum + count, ok + shed + unsent)
}

it.each([
  ['ticks', 'tick', 'shared'],
  ['a waiting thread', 'wait', 'shared'],
  ['a spinning loop', 'spin', 'shared'],
  ['requests bound to connections', 'tick', 'static'],
] as const)(
  'with %s every request of the schedule is sent and answered',
  async (_name, pace, assign) => {
    const result = await run(answerOk, { pace, assign, warmUpSeconds: 0.25 })
    expect(result).toMatchObject({
      scheduled: 400,
      ok: 400,
      otherStatuses: {},
      errors: { connect: 0, read: 0, write: 0, timeout: 0, wrong: 0 },
      shed: 0,
      unsent: 0,
      answeredInAll: 600,
      bytes: 400 * BODY_BYTES,
      connectionsOpened: 8,
      isInterrupted: false,
      seconds: 0.5,
    })
    const { service, release, schedule } = result.latency
    expect([service.count, release.count, schedule.count, result.lag.count]).toEqual(
      Array(4).fill(400),
    )
    expect(service.p50).toBeLessThanOrEqual(release.p50)
    expect(release.p50).toBeLessThanOrEqual(schedule.p50)
    expect(decodeHistogram(schedule.encoded).count).toBe(400)
    expect(result.windows.reduce((sum, { requests }) => sum + requests, 0)).toBe(400)
    expect(result.windows[0]).toMatchObject({ target_rate: 800, offered_rate: 800, errors: 0 })
  },
)

it('a ramp sends as many requests as its rates have in all', async () => {
  const schedule = { kind: 'ramp', fromPerSecond: 100, toPerSecond: 500, seconds: 1 } as const
  expect(await run(answerOk, { schedule })).toMatchObject({ scheduled: 300, ok: 300 })
})

it('a closed loop asks again after each answer, and its clocks are one', async () => {
  const schedule = { kind: 'closed', seconds: 0.5 } as const
  const result = await run(answerOk, { schedule, warmUpSeconds: 0.2 })
  expect(result.ok).toBeGreaterThan(50)
  expect(result).toMatchObject({ scheduled: result.ok, unsent: 0, connectionsOpened: 8 })
  expect(result.latency.schedule.encoded).toBe(result.latency.release.encoded)
  expect(result.tailMeans.p50).toBeGreaterThanOrEqual(result.latency.service.p50)
})

it('a stall of 500 ms is in the latency by schedule, and not in the service time', async () => {
  let stalledUntil = 0
  const result = await run(
    (socket, { total }) => {
      // One answer waits, and with one connection all that is due behind it.
      if (total !== 100) return socket.write(OK)
      stalledUntil = performance.now() + 500
      return setTimeout(() => socket.write(OK), stalledUntil - performance.now())
    },
    { connections: 1, schedule: { kind: 'constant', perSecond: 200, seconds: 2 } },
  )
  expect(result).toMatchObject({ scheduled: 400, ok: 400 })
  const { service, release, schedule } = result.latency
  expect(schedule.p99).toBeGreaterThan(400_000)
  expect(release.p99).toBeGreaterThan(400_000)
  // A quarter of the schedule was due in the stall; one answer was slow to serve.
  expect(schedule.p90).toBeGreaterThan(200_000)
  expect(service.max).toBeGreaterThan(490_000)
  expect(service.p90).toBeLessThan(schedule.p90 / 2)
})

it('fast refusals are no successes', async () => {
  const refusal = answerOf(503, 'no')
  const result = await run((socket) => socket.write(refusal))
  expect(result).toMatchObject({ scheduled: 400, ok: 0, otherStatuses: { 503: 400 } })
  expect(result.windows.every(({ ok_rate }) => ok_rate === 0)).toBe(true)
})

it('a server that closes after every 100 requests costs connections, and no errors', async () => {
  const last = answerOf(200, 'x'.repeat(BODY_BYTES), 'Connection: close\r\n')
  const result = await run(
    (socket, { onConnection }) => {
      if (onConnection % 100 === 99) socket.end(last)
      else socket.write(OK)
    },
    { connections: 1 },
  )
  expect(result).toMatchObject({ scheduled: 400, ok: 400 })
  // The connection that was opened after the last answer may not be open yet.
  expect(result.connectionsOpened).toBeGreaterThanOrEqual(4)
  expect(result.connectionsOpened).toBeLessThanOrEqual(5)
})

it.each([
  ['of another length', answerOf(200, 'x'), 'wrong'],
  ['that is longer than it says', `${OK}x`, 'read'],
  ['that is not HTTP', 'hello, is anybody there?\r\n', 'read'],
] as const)('an answer %s is an error', async (_name, text, error) => {
  const result = await run((socket) => socket.write(text))
  expect(result.ok).toBe(0)
  expect(result.errors[error]).toBe(400)
  expect(ended(result)).toBe(result.scheduled)
})

it('one answer in a hundred is compared with the pattern', async () => {
  const result = await run((socket) => socket.write(answerOf(200, 'y'.repeat(BODY_BYTES))))
  expect([result.ok, result.errors.wrong]).toEqual([396, 4])
})

it('answers in chunks and answers that end with their connection are as good as others', async () => {
  const body = 'x'.repeat(BODY_BYTES)
  const size = BODY_BYTES.toString(16)
  const chunked = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${body}\r\n0\r\n\r\n`
  const result = await run((socket, { total }) => {
    if (total % 2 === 0) socket.write(chunked)
    else socket.end(`HTTP/1.1 200 OK\r\n\r\n${body}`)
  })
  expect(result).toMatchObject({ scheduled: 400, ok: 400, bytes: 400 * BODY_BYTES })
})

it('a request that is not answered in time is an error and a sample', async () => {
  const result = await run(
    (socket, { total }) => {
      if (total % 10 !== 9) socket.write(OK)
    },
    { timeoutMs: 300, connections: 64 },
  )
  expect(result.errors.timeout).toBeGreaterThanOrEqual(40)
  expect(result.latency.schedule.count).toBe(result.ok + result.errors.timeout)
  expect(result.latency.service.max).toBeGreaterThanOrEqual(300_000)
  expect(ended(result)).toBe(400)
})

it.each(['shared', 'static'] as const)(
  'past its deadline a request is not sent (%s)',
  async (assign) => {
    await using origin = await startOrigin((socket) => setTimeout(() => socket.write(OK), 100))
    const plan = { ...PLAN, assign, connections: 2, deadlineMs: 200 }
    const result = await new Generator({ ...plan, targets: [targetOf(origin.port)] }).run()
    // Two connections answer about 10 requests in that time, of 400.
    expect(result.shed).toBeGreaterThan(200)
    expect(ended(result)).toBe(400)
    expect(origin.requests()).toBe(result.ok)
    expect(result.latency.release.max).toBeGreaterThan(0)
  },
)

it('what was due and not sent is counted', async () => {
  const result = await run(
    (socket) => setTimeout(() => socket.write(OK), 100),
    { connections: 2 },
    {},
  )
  expect(result).toMatchObject({ scheduled: 400, shed: 0 })
  expect(result.unsent).toBeGreaterThan(300)
  expect(ended(result)).toBe(400)
})

it('a target that nobody listens on makes every request an error', async () => {
  const unused = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => unused.once('listening', resolve))
  const { port } = unused.address() as { port: number }
  await new Promise((resolve) => unused.close(resolve))
  for (const schedule of [PLAN.schedule, { kind: 'closed', seconds: 0.2 } as const]) {
    const result = await new Generator({ ...PLAN, schedule, targets: [targetOf(port)] }).run()
    expect(result.ok).toBe(0)
    expect(result.errors.connect).toBeGreaterThan(0)
    expect(ended(result)).toBe(result.scheduled)
  }
})

it('a generator that was held up shows it in its lag', async () => {
  let isHeld = false
  const result = await run((socket, { total }) => {
    // In the same thread as the generator.
    const heldUntil = performance.now() + 300
    if (total === 100 && !isHeld) while (performance.now() < heldUntil) isHeld = true
    socket.write(OK)
  })
  expect(result.lag.max).toBeGreaterThan(250_000)
  expect(result.latency.schedule.max).toBeGreaterThan(250_000)
  expect(result.burstIndex).toBeGreaterThan(1)
})

it('requests are taken in turn, or at random where there is a seed', async () => {
  const paths = ['/a', '/b', '/c', '/d']
  const requests = paths.map((path) => ({ method: 'GET', path, host: 'one.test' }) as const)
  const order = async (seed: number | undefined): Promise<string> => {
    const seen: string[] = []
    await using origin = await startOrigin((socket) => {
      seen.push(origin.lastRequest().charAt(5))
      socket.write(OK)
    })
    const plan = { ...PLAN, requests, connections: 1, targets: [targetOf(origin.port)] }
    await new Generator(seed === undefined ? plan : { ...plan, seed }, PATIENT).run()
    return seen.join('')
  }
  expect(await order(undefined)).toBe('abcd'.repeat(100))
  const random = await order(7)
  expect(random).toBe(await order(7))
  expect(random).not.toBe(await order(8))
  for (const letter of 'abcd') expect(random.split(letter).length).toBeGreaterThan(60)
})

it('a POST has its fields, its body and its length, and may go to another target', async () => {
  await using get = await startOrigin(answerOk)
  await using post = await startOrigin(answerOk)
  const result = await new Generator(
    {
      ...PLAN,
      targets: [targetOf(get.port), targetOf(post.port)],
      requests: [
        { method: 'GET', path: '/', host: 'one.test' },
        {
          method: 'POST',
          path: '/p',
          host: 'two.test',
          fields: { 'Content-Type': 'application/json' },
          body: '{"ü":1}',
          target: 1,
        },
      ],
    },
    PATIENT,
  ).run()
  expect(result.ok).toBe(400)
  expect([get.requests(), post.requests()]).toEqual([200, 200])
  expect(Buffer.from(post.lastRequest(), 'latin1').toString()).toBe(
    'POST /p HTTP/1.1\r\nHost: two.test\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"ü":1}',
  )
})

it('connections come from the source addresses in turn', async () => {
  const sources = new Set<string>()
  const result = await run(
    (socket) => {
      sources.add(socket.remoteAddress ?? '')
      socket.write(OK)
    },
    { sourceAddresses: ['127.0.0.2', '127.0.0.3'] },
  )
  expect(result.ok).toBe(400)
  expect([...sources].sort()).toEqual(['127.0.0.2', '127.0.0.3'])
})

it('an interrupted run covers what was measured until then', async () => {
  const interrupted = new AbortController()
  await using origin = await startOrigin((socket, { total }) => {
    if (total === 100) interrupted.abort()
    socket.write(OK)
  })
  const schedule = { kind: 'constant', perSecond: 400, seconds: 60 } as const
  const plan = { ...PLAN, schedule, targets: [targetOf(origin.port)] }
  const result = await new Generator(plan).run(interrupted.signal)
  expect(result.isInterrupted).toBe(true)
  expect(result.seconds).toBeLessThan(60)
  expect(result.ok).toBeGreaterThan(50)
  expect(ended(result)).toBe(result.scheduled)
})
