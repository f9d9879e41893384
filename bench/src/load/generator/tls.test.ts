import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Certificate, makeCertificate } from '../../certificate.ts'
import { HOST } from '../../scenarios.ts'
import type { LoadPlan } from '../load-plan.ts'
import { Generator } from './generator.ts'
import { answerOf, BODY_BYTES, startOrigin } from './origin.fixture.ts'
import { SessionTickets } from './session-tickets.ts'

let directory: string
let certificate: Certificate

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-load-test-'))
  certificate = await makeCertificate(directory)
})

afterAll(() => rm(directory, { recursive: true, force: true }))

function planFor(port: number, serverName: string): LoadPlan {
  const tls = { serverName, authorityFile: certificate.chainFile }
  return {
    targets: [{ address: '127.0.0.1', port, tls }],
    requests: [{ method: 'GET', path: '/', host: HOST }],
    connections: 4,
    schedule: { kind: 'constant', perSecond: 100, seconds: 1 },
    warmUpSeconds: 0,
    pace: 'tick',
    assign: 'shared',
    deadlineMs: 0,
    timeoutMs: 10_000,
    isConnectionPerRequest: false,
    expected: { status: 200, bodyBytes: BODY_BYTES, bodyPattern: 'x' },
    sourceAddresses: [],
  }
}

async function run(plan: Partial<LoadPlan>, serverName = HOST) {
  const tls = {
    key: await readFile(certificate.keyFile, 'utf8'),
    cert: await readFile(certificate.chainFile, 'utf8'),
  }
  await using origin = await startOrigin((socket) => socket.write(answerOf(200)), tls)
  const whole = { ...planFor(origin.port, serverName), ...plan }
  const result = await new Generator(whole, { lastSendMs: 10_000 }).run()
  return { result, request: origin.lastRequest() }
}

it('connections by TLS are kept, with one handshake each', async () => {
  const { result } = await run({})
  expect(result).toMatchObject({ scheduled: 100, ok: 100, connectionsOpened: 4 })
  expect(result.handshakes.full + result.handshakes.resumed).toBe(4)
})

it('a connection for each request resumes a session wherever a ticket is left', async () => {
  const { result, request } = await run({ isConnectionPerRequest: true })
  expect(request).toContain('\r\nConnection: close\r\n')
  expect(result).toMatchObject({ scheduled: 100, ok: 100, connectionsOpened: 100 })
  const { full, resumed } = result.handshakes
  expect(full + resumed).toBe(100)
  // A full handshake brings tickets for at least one resumed one.
  expect(resumed).toBeGreaterThanOrEqual(40)
  expect(full).toBeGreaterThanOrEqual(1)
})

it('a certificate of another name is an error of the connection', async () => {
  const { result } = await run({}, 'other.test')
  expect(result).toMatchObject({ scheduled: 100, ok: 0, errors: { connect: 100 } })
})

it('a ticket is used once, the newest first, and no more are kept than have a use', () => {
  const tickets = new SessionTickets(2)
  for (const text of ['one', 'two', 'three']) tickets.put(Buffer.from(text))
  expect([tickets.take(), tickets.take(), tickets.take()].map(String)).toEqual([
    'two',
    'one',
    'undefined',
  ])
})
