import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { TEST_CHAIN_PEM, TEST_KEY_PEM } from '../../testing/certificate.ts'
import {
  encodeCertificate,
  encodeEntryPoint,
  encodeRouter,
  encodeService,
} from '../../testing/resources.ts'
import { shakeHands } from '../../testing/tls-session.ts'
import { type RunningWorker, startWorker } from '../../testing/worker.ts'
import { TICKET_KEY_BYTES } from '../../worker-protocol.ts'

const [OLD, NEW] = [randomBytes(TICKET_KEY_BYTES), randomBytes(TICKET_KEY_BYTES)]

let one: RunningWorker
let other: RunningWorker

function start(): RunningWorker {
  return startWorker([
    encodeEntryPoint('web', { isHttps: true, defaultCertificate: 'c' }),
    encodeCertificate('c', ['a.test'], TEST_CHAIN_PEM, TEST_KEY_PEM),
    encodeRouter('r', 's'),
    encodeService('s', [1]),
  ])
}

beforeEach(() => {
  one = start()
  other = start()
  one.worker.setTicketKeys([OLD])
  other.worker.setTicketKeys([OLD])
})

afterEach(async () => {
  await one.stop()
  await other.stop()
})

it('lets a client go on with its session at another worker that has the same keys', async () => {
  const { session, isResumed } = await shakeHands(one.port)
  expect(isResumed).toBe(false)
  expect((await shakeHands(other.port, session)).isResumed).toBe(true)
})

it('renews the ticket of each resumed session', async () => {
  let { session } = await shakeHands(one.port)
  for (let times = 0; times < 3; times += 1) {
    const next = await shakeHands(one.port, session)
    expect(next.isResumed).toBe(true)
    expect(next.session?.equals(session ?? Buffer.alloc(0))).toBe(false)
    session = next.session
  }
})

it('reads tickets of the key before, and seals the new ones with the newest', async () => {
  const { session } = await shakeHands(one.port)
  one.worker.setTicketKeys([NEW, OLD])
  other.worker.setTicketKeys([NEW])
  const next = await shakeHands(one.port, session)
  expect(next.isResumed).toBe(true)
  expect((await shakeHands(other.port, next.session)).isResumed).toBe(true)
})

it('shakes hands in full when the key of a ticket is gone', async () => {
  const { session } = await shakeHands(one.port)
  one.worker.setTicketKeys([NEW])
  const next = await shakeHands(one.port, session)
  expect(next.isResumed).toBe(false)
  expect((await shakeHands(one.port, next.session)).isResumed).toBe(true)
})
