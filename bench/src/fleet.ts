/**
 * `npm run bench:fleet`: a built control plane with many simulated nodes that speak the real protocol over
 * mutual TLS. Exit code 0: everything that was measured is within its bound, 1: something is not, 2: cannot run.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runMain } from './command-line/run-main.ts'
import { measureColdStart } from './fleet/cold-start.ts'
import { MeasuredControlPlane } from './fleet/control-plane.ts'
import { enrolNodes } from './fleet/enrolment.ts'
import { type FleetFigures, linesOf, percentile, render } from './fleet/figures.ts'
import { isWithinBounds, measureLargeNode, renderLargeNode } from './fleet/large-node.ts'
import { applyCertificates, applyRouters, changeRouter } from './fleet/resources.ts'
import { type FleetSettings, HELP, readSettings } from './fleet/settings.ts'
import { SimulatedFleet } from './fleet/simulated-fleet.ts'
import { cpuModel, cpuSeconds } from './processor.ts'

const WAIT_MS = 300_000
const LOOK_MS = 250
const WRITE_EVERY_MS = 500
const CERTIFICATES_MAX = 1_000

async function main(): Promise<number> {
  const settings = readSettings(process.argv.slice(2))
  if (settings === undefined) {
    say(HELP)
    return 0
  }
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-fleet-'))
  const controlPlane = await MeasuredControlPlane.start(
    join(directory, 'control-plane'),
    settings.isLargeNode,
  )
  try {
    const { figures, text, isMet } = await (settings.isLargeNode
      ? largeNode(controlPlane, directory, settings)
      : fleet(controlPlane, directory, settings))
    say(text)
    const machine = {
      cpu: cpuModel(),
      cpus: cpus().length,
      kernel: release(),
      node: process.version,
    }
    say(`${machine.cpu}, ${machine.cpus} CPUs for both sides, Node ${machine.node}\n`)
    if (settings.json !== undefined) {
      await writeFile(settings.json, `${JSON.stringify({ settings, figures, machine }, null, 2)}\n`)
    }
    return isMet ? 0 : 1
  } finally {
    await controlPlane.close()
    await rm(directory, { recursive: true, force: true })
  }
}

interface Outcome {
  readonly figures: object
  readonly text: string
  readonly isMet: boolean
}

async function largeNode(
  controlPlane: MeasuredControlPlane,
  directory: string,
  { routers, changes }: FleetSettings,
): Promise<Outcome> {
  say(`a node with ${routers} routers\n`)
  const figures = await measureLargeNode(controlPlane, directory, routers, changes)
  return { figures, text: renderLargeNode(figures, routers), isMet: isWithinBounds(figures) }
}

async function fleet(
  controlPlane: MeasuredControlPlane,
  directory: string,
  settings: FleetSettings,
): Promise<Outcome> {
  const figures = await measure(controlPlane, directory, settings)
  const isMet = linesOf(figures, settings).every((line) => line.isMet !== false)
  return { figures, text: render(figures, settings), isMet }
}

async function measure(
  controlPlane: MeasuredControlPlane,
  directory: string,
  settings: FleetSettings,
): Promise<FleetFigures> {
  const { nodes, routers } = settings
  say(`${routers} routers\n`)
  await applyRouters(controlPlane, routers)
  say(`enrolling ${nodes} nodes\n`)
  const identities = await enrolNodes(controlPlane, nodes)
  const fleet = new SimulatedFleet(identities, controlPlane.fleetAddress)
  try {
    const phase = (name: string) =>
      say(`${name} (memory so far: ${Math.round(controlPlane.memoryPeak() / 2 ** 20)} MiB)\n`)
    phase('connecting')
    const began = performance.now()
    fleet.expect((await statusOf(controlPlane)).version)
    await fleet.connect(WAIT_MS)
    await fleet.applied(WAIT_MS)
    const connectSeconds = (performance.now() - began) / 1_000
    phase('changing one router')
    const change = await measureChanges(controlPlane, fleet, settings)
    phase('telemetry')
    const telemetry = await measureTelemetry(controlPlane, fleet, settings)
    const before = controlPlane.memoryPeak()
    phase('restarting')
    const restart = await measureRestart(controlPlane, nodes)
    const memoryMib = Math.max(before, controlPlane.memoryPeak()) / 2 ** 20
    fleet.stop()
    phase('starting a real node')
    await applyCertificates(controlPlane, Math.min(CERTIFICATES_MAX, routers))
    const { joinMs, fromDiskMs } = await measureColdStart(controlPlane, directory)
    return {
      connectSeconds,
      ...change,
      ...restart,
      ...telemetry,
      memoryMib,
      coldStartSeconds: joinMs / 1_000,
      coldStartFromDiskSeconds: fromDiskMs / 1_000,
    }
  } finally {
    fleet.stop()
  }
}

async function measureChanges(
  controlPlane: MeasuredControlPlane,
  fleet: SimulatedFleet,
  { changes, nodes }: FleetSettings,
) {
  const seconds: number[] = []
  const bytesBefore = fleet.bytesReceived
  let { version } = await statusOf(controlPlane)
  for (let index = 1; index <= changes; index += 1) {
    version += 1
    fleet.expect(version)
    const began = performance.now()
    await changeRouter(controlPlane, index)
    const applied = await fleet.applied(WAIT_MS)
    seconds.push(...applied.map((atMs) => (atMs - began) / 1_000))
  }
  return {
    changeP50Seconds: percentile(seconds, 0.5),
    changeP99Seconds: percentile(seconds, 0.99),
    changeMaxSeconds: percentile(seconds, 1),
    changeBytes: (fleet.bytesReceived - bytesBefore) / nodes / changes,
    fullUpdates: fleet.fullUpdates,
  }
}

/** First telemetry alone, for its cost; then as much of it again with writes in between, for theirs. */
async function measureTelemetry(
  controlPlane: MeasuredControlPlane,
  fleet: SimulatedFleet,
  { seconds, routers }: FleetSettings,
) {
  const began = performance.now()
  const cpuBefore = cpuSeconds(controlPlane.pid)
  await fleet.report(seconds, routers)
  await fleet.stored(WAIT_MS)
  const wall = (performance.now() - began) / 1_000
  const telemetryCores = (cpuSeconds(controlPlane.pid) - cpuBefore) / wall
  const reporting = { isOver: false }
  const more = fleet.report(seconds, routers).finally(() => {
    reporting.isOver = true
  })
  const writes: number[] = []
  for (let index = 0; !reporting.isOver; index += 1) {
    const sentAtMs = performance.now()
    await changeRouter(controlPlane, 1_000_000 + index)
    writes.push(performance.now() - sentAtMs)
    await delay(WRITE_EVERY_MS)
  }
  await more
  await fleet.stored(WAIT_MS)
  const stored = await requestsStored(controlPlane)
  return {
    telemetryCores,
    telemetryLost: fleet.requestsCounted - stored,
    writeP50Ms: percentile(writes, 0.5),
    writeP99Ms: percentile(writes, 0.99),
  }
}

async function measureRestart(controlPlane: MeasuredControlPlane, nodes: number) {
  const killedAtMs = performance.now()
  await controlPlane.end('SIGKILL')
  await controlPlane.startAgain()
  const readyAtMs = performance.now()
  const deadline = readyAtMs + WAIT_MS
  while ((await statusOf(controlPlane)).nodes.inSync < nodes) {
    if (performance.now() > deadline) throw new Error('the nodes did not come back in time')
    await delay(LOOK_MS)
  }
  return {
    restartSeconds: (performance.now() - readyAtMs) / 1_000,
    restartWithDownTimeSeconds: (performance.now() - killedAtMs) / 1_000,
  }
}

function statusOf(
  controlPlane: MeasuredControlPlane,
): Promise<{ version: number; nodes: { inSync: number } }> {
  return controlPlane.call('GET', 'status')
}

async function requestsStored(controlPlane: MeasuredControlPlane): Promise<number> {
  const { series } = await controlPlane.call<{
    series: { points: { requests: { total: number } }[] }[]
  }>('GET', 'analytics/traffic?by=service')
  return series
    .flatMap(({ points }) => points)
    .reduce((sum, { requests }) => sum + requests.total, 0)
}

function say(text: string): void {
  process.stdout.write(text)
}

await runMain(main)
