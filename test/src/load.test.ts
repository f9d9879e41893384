/** Many clients, all sizes, one worker. */
import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { claims, loadSeconds } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { startFleet } from './harness/fleet.ts'
import { startLoad } from './harness/load/start-load.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import { routeTo } from './harness/routes.ts'

const CLIENTS = 200
const PRIVATE_MIB_MAX = 120

const { it } = claims()
const seconds = loadSeconds()

it(
  `${CLIENTS} keep-alive clients through one worker for ${seconds} s, bodies of 1 byte to 8 MB: no failure, no wrong byte, less than ${PRIVATE_MIB_MAX} MiB`,
  async (scope) => {
    const origin = await startEchoOrigin(scope)
    const fleet = await startFleet(scope, { workers: 1 })
    const host = await routeTo(fleet, [origin])
    const [worker = 0] = await fleet.node.workerPids()
    const plan = { port: fleet.node.port(), host, connections: CLIENTS, work: 'mixed' } as const
    const load = startLoad(scope, plan)
    const until = performance.now() + seconds * 1000
    let privateMib = 0
    await eventually(
      async () => {
        privateMib = Math.max(privateMib, await privateMibOf(worker))
        return performance.now() >= until || load.failed > 0
      },
      { withinMs: seconds * 1000 + 5_000, that: 'the time of the load' },
    )
    const result = await load.stop(120_000)
    expect(result.failures).toEqual([])
    expect(result).toMatchObject({ failed: 0, succeeded: result.sent })
    expect(result.sent).toBeGreaterThan(CLIENTS)
    expect(privateMib).toBeLessThan(PRIVATE_MIB_MAX)
    expect(await fleet.node.workerPids()).toEqual([worker])
  },
  { withinMs: seconds * 1000 + 180_000 },
)

/** Memory that is the process's own: what its end would give back. */
async function privateMibOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
  const kib = [...text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB$/gm)].map(([, n]) =>
    Number(n),
  )
  return kib.reduce((sum, one) => sum + one, 0) / 1024
}
