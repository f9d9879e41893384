/** What is read of processes, sockets and CPUs, checked against programs that are made for it. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PinnedProcess } from '../peers/pinned-process.ts'
import { allowedCpus } from '../processor.ts'
import { examineMachine } from './examination.ts'
import { isHeldBy, listenersOn } from './listeners.ts'
import { calibrate, measureHiccups } from './noise.ts'
import {
  delayByOthersNs,
  memoryOf,
  processorsIn,
  strayTasks,
  usageBetween,
  usageOf,
} from './process-tree.ts'
import { waitForQuiet } from './quiet-gate.ts'
import { readSystemCounters, systemChange } from './system-counters.ts'

const cpus = allowedCpus()
const [cpu = 0] = cpus
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-bench-machine-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

function start(args: readonly string[]): PinnedProcess {
  return new PinnedProcess({
    name: 'a test program',
    command: process.execPath,
    args,
    folder,
    processors: String(cpu),
  })
}

it('reads lists of CPUs as taskset takes them', () => {
  expect(processorsIn('0')).toEqual([0])
  expect(processorsIn('0,2-4')).toEqual([0, 2, 3, 4])
})

it.each([
  ['waits for its own other task', { first: [600, 400], second: [400, 600] }, 1, 0],
  ['waits for other programs', { first: [400, 600], second: [100, 100] }, 1, 500],
  ['waits while its own tasks have two CPUs', { first: [500, 500], second: [1000, 0] }, 2, 0],
])('a tree that %s', (_what, all, processors, expected) => {
  const tasks = new Map(
    Object.entries(all).map(([task, [runNs = 0, delayNs = 0]]) => [task, { runNs, delayNs }]),
  )
  const runNs = [...tasks.values()].reduce((sum, task) => sum + task.runNs, 0)
  expect(delayByOthersNs({ ...usageOf([]), runNs, tasks }, processors)).toBe(expected)
})

it('a program and its child are one tree, pinned, with CPU and memory that grow with their work', async () => {
  const busy = `
    require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    const kept = []
    const spin = () => {
      const until = Date.now() + 20
      while (Date.now() < until);
      if (kept.length < 32) kept.push(Buffer.alloc(1 << 20, 1))
      setImmediate(spin)
    }
    spin()`
  const program = start(['-e', busy])
  try {
    await program.until('it has no child', async () => program.processes().length === 2)
    const [leader] = program.processes()
    expect(leader).toBe(program.pid)
    expect(strayTasks(program.processes(), String(cpu))).toEqual([])
    if (cpus.length > 1) {
      expect(strayTasks(program.processes(), cpus.join(','))[0]).toContain(`may use CPUs ${cpu}`)
    }
    const before = usageOf(program.processes())
    await program.until('it used no CPU', async () => {
      return usageBetween(before, usageOf(program.processes())).runNs > 50e6
    })
    await program.until('it kept no memory', async () => {
      return memoryOf(program.processes()).privateBytes > 32 * 2 ** 20
    })
    expect(usageOf(program.processes()).threads).toBeGreaterThan(2)
  } finally {
    await program.stop()
  }
  expect(program.processes()).toEqual([])
})

it('a program that ignores SIGTERM is killed with all that it started', async () => {
  const stubborn = `
    process.on('SIGTERM', () => {})
    const child = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"
    require('node:child_process').spawn(process.execPath, ['-e', child])
    setInterval(() => {}, 1000)`
  const program = start(['-e', stubborn])
  await program.until('it has no child', async () => program.processes().length === 2)
  await program.stop()
  expect(program.processes()).toEqual([])
}, 30_000)

it('a program that ends at its start says why', async () => {
  const program = start(['-e', 'console.error("no such thing"); process.exit(3)'])
  await expect(program.until('it is there', async () => false)).rejects.toThrow(/no such thing/)
  await program.stop()
})

it('a listener is found by its port and belongs to the process that holds it', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const [inode = '', ...others] = listenersOn(port)
  expect(others).toEqual([])
  expect(isHeldBy(inode, [process.pid])).toBe(true)
  expect(isHeldBy(inode, [process.ppid])).toBe(false)
  server.close()
  await once(server, 'close')
  expect(listenersOn(port)).toEqual([])
})

it("CPU time that is not ours is another's, and shares are of all CPUs", () => {
  const times = (busyNs: number, stealNs: number, idleNs: number) =>
    new Map([[0, { busyNs, stealNs, idleNs }]])
  const at = { ...readSystemCounters(), atMs: 0, pressureUs: 0, processors: times(0, 0, 0) }
  const later = { ...at, atMs: 1_000, pressureUs: 250_000, processors: times(6e8, 1e8, 3e8) }
  const change = systemChange(at, later, { processors: '0', ownNs: 4e8 })
  expect(change).toMatchObject({ seconds: 1, stealShare: 0.1, idleShare: 0.3, pressureShare: 0.25 })
  expect(change.foreignShare).toBeCloseTo(0.2)
})

it('the calibration does the same work each time, and the hiccup meter covers its time', () => {
  const first = calibrate()
  expect(calibrate().checksum).toBe(first.checksum)
  expect(first.ms).toBeGreaterThan(1)
  const { seconds, share, maxUs } = measureHiccups(50)
  expect(seconds).toBeGreaterThanOrEqual(0.05)
  expect(share).toBeLessThanOrEqual(1)
  expect(maxUs).toBeGreaterThanOrEqual(0)
})

it('the quiet gate opens when its bound is met and gives up when its time is over', async () => {
  const settings = { processors: [String(cpu)], quietMs: 20, timeWaitMax: Number.MAX_SAFE_INTEGER }
  const open = await waitForQuiet({ ...settings, idleShareMin: 0, waitMsMax: 10_000 })
  expect(open.isQuiet).toBe(true)
  const shut = await waitForQuiet({ ...settings, idleShareMin: 1.1, waitMsMax: 100 })
  expect(shut).toMatchObject({ isQuiet: false })
  expect(shut.waitedMs).toBeGreaterThanOrEqual(100)
})

it('the examination knows the CPUs, the limits and every peer, and each problem is one line', async () => {
  const { environment, peers, layout, problems } = await examineMachine()
  expect(environment.processors).toEqual(cpus)
  expect(environment.openFilesMax.soft).toBeGreaterThan(0)
  expect(peers.map(({ peer }) => peer.name)).toContain('nginx')
  expect(layout === undefined).toBe(cpus.length < 2)
  for (const { text } of problems) expect(text).not.toContain('\n')
  const missing = peers.filter(({ found }) => found.kind === 'missing')
  for (const { peer } of missing) {
    expect(problems.some(({ text }) => text.startsWith(`${peer.name} is not `))).toBe(true)
  }
}, 60_000)
