/**
 * Private memory of the worker. Per connection it is what 2,000 more add to 500 that are there already, in a
 * worker that served nothing else, so that what the process needs only once is not charged to connections.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { applyLoad } from './load/wrk.ts'
import { privateBytes } from './processor.ts'
import { columns } from './report.ts'
import { HOST, type Protocol } from './scenarios.ts'
import { type StartedPrograms, type Surroundings, startSubject } from './subject.ts'

const IDLE_CLIENTS = fileURLToPath(new URL('./load/idle-clients.ts', import.meta.url))
const LOADED_CONNECTIONS = 1_000
const FIRST_CONNECTIONS = 500
const MORE_CONNECTIONS = 2_000
/** For what was needed only for a moment to be given back. */
const SETTLE_MS = 3_000
const SAMPLE_MS = 250

const BOUNDS = { idleMib: 20, loadedMib: 60, httpKib: 12, httpsKib: 30 } as const

export type MemoryFigures = Readonly<Record<keyof typeof BOUNDS, number>>

export async function measureMemory(
  programs: StartedPrograms,
  around: Surroundings,
  seconds: number,
): Promise<MemoryFigures> {
  const { idleMib, loadedMib } = await measureLoaded(programs, around, seconds)
  return {
    idleMib,
    loadedMib,
    httpKib: await measureIdleConnections(programs, around, 'http'),
    httpsKib: await measureIdleConnections(programs, around, 'https'),
  }
}

/** The most that was seen while the load ran. */
async function measureLoaded(
  programs: StartedPrograms,
  around: Surroundings,
  seconds: number,
): Promise<{ idleMib: number; loadedMib: number }> {
  const { ports, worker } = await startSubject(programs, around, 'sluice', {
    folder: 'memory-loaded',
  })
  await delay(SETTLE_MS)
  const idle = privateBytes(worker)
  const url = `http://${HOST}:${ports.http}/1k`
  const load = { cpus: around.machine.otherCpus, connections: LOADED_CONNECTIONS, url }
  let most = idle
  const sampling = setInterval(() => {
    most = Math.max(most, privateBytes(worker))
  }, SAMPLE_MS)
  try {
    await applyLoad(load, seconds)
  } finally {
    clearInterval(sampling)
  }
  return { idleMib: idle / 2 ** 20, loadedMib: most / 2 ** 20 }
}

/** KiB for each connection. */
async function measureIdleConnections(
  programs: StartedPrograms,
  around: Surroundings,
  protocol: Protocol,
): Promise<number> {
  const folder = `memory-${protocol}`
  const { ports, worker } = await startSubject(programs, around, 'sluice', { folder })
  const args = [process.execPath, IDLE_CLIENTS, protocol, String(ports[protocol]), '/1k']
  const clients = spawn('taskset', ['-c', around.machine.otherCpus, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(clients, 'exit')
  const held = createInterface({ input: clients.stdout })[Symbol.asyncIterator]()
  const openMore = async (count: number) => {
    clients.stdin.write(`${count}\n`)
    if ((await held.next()).done) throw new Error('the idle connections ended')
    await delay(SETTLE_MS)
    return privateBytes(worker)
  }
  try {
    const first = await openMore(FIRST_CONNECTIONS)
    const more = await openMore(MORE_CONNECTIONS)
    return (more - first) / MORE_CONNECTIONS / 1024
  } finally {
    clients.stdin.end()
    await ended
  }
}

export function isMemoryMet(figures: MemoryFigures): boolean {
  return rowsOf(figures).every(([_what, _unit, measured, bound]) => measured <= bound)
}

export function renderMemory(figures: MemoryFigures): string {
  const rows = rowsOf(figures).map(([what, unit, measured, bound]) => [
    what,
    `${measured.toFixed(1)} ${unit}`,
    `at most ${bound}`,
    measured <= bound ? 'met' : 'NOT met',
  ])
  return ["Worker's private memory", ...columns(rows), '', ''].join('\n')
}

function rowsOf(figures: MemoryFigures): [string, string, number, number][] {
  const { idleMib, loadedMib, httpKib, httpsKib } = figures
  return [
    ['idle', 'MiB', idleMib, BOUNDS.idleMib],
    [`${LOADED_CONNECTIONS} connections under load`, 'MiB', loadedMib, BOUNDS.loadedMib],
    ['per idle HTTP connection', 'KiB', httpKib, BOUNDS.httpKib],
    ['per idle TLS connection', 'KiB', httpsKib, BOUNDS.httpsKib],
  ]
}
