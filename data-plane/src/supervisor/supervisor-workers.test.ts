import { readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { TEST_CHAIN_PEM, TEST_KEY_PEM } from '../testing/certificate.ts'
import { encodeCertificate, encodeEntryPoint } from '../testing/resources.ts'
import { shakeHands } from '../testing/tls-session.ts'
import { limits } from './limits.ts'
import { NodeFixture, readiness, request, statusOf, webAddress } from './node.fixture.ts'
import { fullUpdate, router, service } from './resources.fixture.ts'
import { waitFor } from './wait-for.fixture.ts'
import { restartDelayMs } from './worker-pool.ts'

const OK = '200 from the origin'

let node: NodeFixture

beforeEach(async () => {
  node = await NodeFixture.make()
  node.controlPlane.update = node.version(1n)
})

afterEach(async () => {
  await node.stop()
})

it('replaces a worker that dies, and its queue waits for the next one', async () => {
  const supervisor = await node.start({ workers: 1 })
  await node.controlPlane.take('applied')
  const address = await webAddress(supervisor)
  const [worker] = (await statusOf(supervisor)).workers
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  await waitFor(async () => (await readiness(supervisor)) !== '200 ready', 'the loss')
  // Nobody accepts now; the connection waits in the kernel.
  expect(await request(address)).toBe(OK)
  await waitFor(async () => (await readiness(supervisor)) === '200 ready', 'a new worker')
  const [next] = (await statusOf(supervisor)).workers
  expect(next?.pid).not.toBe(worker?.pid)
})

it('lets a worker take several new connections in a turn of its loop', async () => {
  const supervisor = await node.start({ workers: 1 })
  await node.controlPlane.take('applied')
  const port = Number((await webAddress(supervisor)).split(':').at(-1))
  const [worker] = (await statusOf(supervisor)).workers
  const copies = () => listenersOf(worker?.pid ?? 0, port)
  await waitFor(async () => (await copies()) === limits.acceptsPerTurn, 'every copy of the socket')
})

/** Descriptors of the process for the socket that listens on the port of an IPv4 address. */
async function listenersOf(pid: number, port: number): Promise<number> {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  const rows = (await readFile('/proc/net/tcp', 'latin1'))
    .split('\n')
    .map((row) => row.trim().split(/ +/))
  const inode = rows.find(
    ([, local, , state]) => local?.endsWith(`:${hexPort}`) && state === '0A',
  )?.[9]
  const folder = `/proc/${pid}/fd`
  const links = await Promise.all(
    (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => 'closed')),
  )
  return links.filter((link) => link === `socket:[${inode}]`).length
}

it('waits longer each time a worker dies right after its start', () => {
  expect([0, 1, 2, 3, 7, 20].map(restartDelayMs)).toEqual([0, 100, 200, 400, 5_000, 5_000])
})

it('says so and stays alive when no worker can be started', async () => {
  const program = join(node.folder, 'worker.mjs')
  await writeFile(program, 'process.exit(1)')
  const supervisor = await node.start({}, true, program)
  const { problems } = await node.controlPlane.take('rejected')
  expect(problems[0]?.reason).toContain('a worker could not take the version: it ended (code 1)')
  expect(await readiness(supervisor)).toMatch(/^503 no version serves: a worker could not take/)
})

it('puts the notices of a worker into its log, with their fields', async () => {
  const program = join(node.folder, 'worker.mjs')
  const notice = { level: 'warn', text: 'too few file descriptors', fields: { times: 7 } }
  const lines = [
    `process.send({ kind: 'started' })`,
    `process.send(${JSON.stringify({ kind: 'notice', notice })})`,
    `process.on('message', ({ kind }) => kind === 'drain' && process.exit())`,
  ]
  await writeFile(program, lines.join('\n'))
  await node.start({ workers: 1 }, true, program)
  const warnings = () => node.log.filter((line) => line.includes('file descriptors'))
  await waitFor(async () => warnings().length > 0, 'the warning')
  expect(warnings().map((line) => JSON.parse(line))).toMatchObject([{ level: 40, times: 7 }])
})

it('gives the running version to a worker that was replaced during a change', async () => {
  const supervisor = await node.start({ workers: 2 })
  await node.controlPlane.take('applied')
  const [worker] = (await statusOf(supervisor)).workers
  node.controlPlane.sendUpdate(node.version(2n))
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  expect(await node.controlPlane.take('applied')).toMatchObject({ version: 2n })
  await waitFor(async () => (await readiness(supervisor)) === '200 ready', 'all workers')
  expect(await request(await webAddress(supervisor))).toBe(OK)
})

it('rolls all workers under load, and no connection is refused', async () => {
  const supervisor = await node.start({ workers: 2 })
  await node.controlPlane.take('applied')
  const address = await webAddress(supervisor)
  const before = (await statusOf(supervisor)).workers.map(({ pid }) => pid)
  let isRolling = true
  let answered = 0
  const client = async () => {
    while (isRolling) {
      expect(await request(address)).toBe(OK)
      answered += 1
    }
  }
  const clients = Promise.all([client(), client(), client(), client()])
  await supervisor.replaceWorkers()
  isRolling = false
  await clients
  const after = (await statusOf(supervisor)).workers.map(({ pid }) => pid)
  expect(after).toHaveLength(2)
  expect(after.filter((pid) => before.includes(pid))).toEqual([])
  await supervisor.stop()
  expect(node.controlPlane.requestsStored).toBe(answered)
})

it('has TLS sessions go on at any worker, and at those that replace them', async () => {
  node.controlPlane.update = fullUpdate(1n, [
    Buffer.from(encodeEntryPoint('web', { isHttps: true, defaultCertificate: 'c' })),
    Buffer.from(encodeCertificate('c', ['a.test'], TEST_CHAIN_PEM, TEST_KEY_PEM)),
    router('all', 'origin'),
    service('origin', node.originUrl),
  ])
  const supervisor = await node.start({ workers: 2 })
  await node.controlPlane.take('applied')
  const port = Number((await webAddress(supervisor)).split(':')[1])
  let { session } = await shakeHands(port)
  const goOn = async () => {
    for (let times = 0; times < 10; times += 1) {
      const next = await shakeHands(port, session)
      expect(next.isResumed).toBe(true)
      session = next.session
    }
  }
  await goOn()
  await supervisor.replaceWorkers()
  await goOn()
})
