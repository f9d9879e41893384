import { once } from 'node:events'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { addressOf, type Program, Programs, statusText } from './program.fixture.ts'
import { NodeFixture, request } from './supervisor/node.fixture.ts'
import { TelemetrySpool } from './supervisor/telemetry-spool.ts'
import { countRequests } from './supervisor/traffic-table.ts'
import { waitFor } from './supervisor/wait-for.fixture.ts'

let node: NodeFixture
const programs = new Programs()

beforeEach(async () => {
  node = await NodeFixture.make()
  node.controlPlane.update = node.version(1n)
})

afterEach(async () => {
  programs.kill()
  await node.stop()
})

function start(...argv: string[]): Program {
  const where = ['--data-dir', node.folder, '--name', 'node-1', '--status', '127.0.0.1:0']
  return programs.start(['run', '--control-plane', node.controlPlane.address, ...where, ...argv])
}

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it('drains on SIGTERM, exits with 0, and every request is counted', async () => {
  const program = start('--join-token', node.controlPlane.token, '--workers', '2')
  const address = await addressOf(program)
  await Promise.all(Array.from({ length: 20 }, () => request(address)))
  program.child.kill('SIGTERM')
  expect(await program.exit).toBe(0)
  expect(program.error).toBe('')
  expect(node.controlPlane.requestsStored).toBe(20)
  expect(program.out).not.toContain(node.controlPlane.secret)
})

it('exits with 1 at once on a second signal, and leaves no worker', async () => {
  const program = start('--join-token', node.controlPlane.token, '--workers', '1')
  const address = await addressOf(program)
  const report: { workers: { pid: number }[] } = JSON.parse(await statusText(program, '/status'))
  const [worker] = report.workers
  // A request that is not finished holds the drain.
  const socket = connect(Number(address.split(':').at(-1)), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nhalf')
  await once(socket, 'connect')
  program.child.kill('SIGTERM')
  await waitFor(() => program.out.includes('"msg":"draining"'), 'the drain')
  program.child.kill('SIGTERM')
  expect(await program.exit).toBe(1)
  await waitFor(() => !alive(worker?.pid ?? 0), 'the end of the worker')
  socket.destroy()
})

it('loses nothing older than a second when it is killed, and counts nothing twice', async () => {
  const first = start('--join-token', node.controlPlane.token, '--workers', '1')
  const address = await addressOf(first)
  node.controlPlane.isDeaf = true
  for (let count = 0; count < 10; count += 1) await request(address)
  await waitFor(async () => (await spooledRequests()) === 10, 'counters on the disk')
  first.child.kill('SIGKILL')
  await first.exit
  node.controlPlane.isDeaf = false
  const second = start('--workers', '1')
  await addressOf(second)
  await waitFor(() => node.controlPlane.requestsStored > 0, 'the counters of the first boot')
  second.child.kill('SIGTERM')
  expect(await second.exit).toBe(0)
  expect(node.controlPlane.requestsStored).toBe(10)
})

/** Read from a copy, since the files belong to the node that runs. */
async function spooledRequests(): Promise<number> {
  const copy = await mkdtemp(join(tmpdir(), 'sluice-spool-'))
  await cp(`${node.folder}/telemetry`, `${copy}/telemetry`, {
    recursive: true,
    filter: (source) => !source.endsWith('.tmp'),
  })
  const found = new TelemetrySpool(copy, pino({ level: 'silent' })).load()
  await rm(copy, { recursive: true })
  const counts = found.map(
    ({ inFlight, accumulated }) =>
      countRequests(accumulated) + (inFlight === undefined ? 0 : countRequests(inFlight)),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

it.each([
  ['without identity and token', [], /^sluice-node: there is no identity in .*\n$/],
  ['with a token of no form', ['--join-token', 'x'], /^sluice-node: the join token .*\n$/],
  ['with a wrong flag', ['--workers', 'many'], /^sluice-node: option '--workers <count>' .*\n$/],
])('says in one line why it cannot start %s', async (_name, argv, line) => {
  const program = start(...argv)
  expect(await program.exit).toBe(1)
  expect(program.error).toMatch(line)
})

it('says in one line that the status address is taken', async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve))
  const bound = taken.address()
  const address = `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`
  const program = start('--join-token', node.controlPlane.token, '--status', address)
  expect(await program.exit).toBe(1)
  taken.close()
  expect(program.error).toBe(
    `sluice-node: the status address ${address} is already in use; choose another with --status\n`,
  )
})
