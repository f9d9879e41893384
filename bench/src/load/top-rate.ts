/**
 * `node bench/src/load/top-rate.ts [PER-SECOND [SECONDS [PACE]]]`: whether the generator keeps a rate on one CPU,
 * against nginx on another. Exit code 1: something was not sent or not answered, or it was late.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startOrigin } from '../origin/origin.ts'
import { allowedCpus } from '../processor.ts'
import { BODY_BYTES, HOST } from '../scenarios.ts'
import type { LoadPlan } from './load-plan.ts'
import { takeRealTimePriority } from './priority.ts'
import { runLoad } from './run-load.ts'

const LAG_P50_US_MAX = 1_000
const PACES = ['tick', 'wait', 'spin'] as const

async function main([perSecond = '20000', seconds = '10', pace = 'tick']: readonly string[]) {
  process.env.PATH = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`
  const [first, second] = allowedCpus()
  if (first === undefined || second === undefined) throw new Error('two CPUs are needed')
  const known = PACES.find((one) => one === pace)
  if (known === undefined) throw new Error(`the pace is one of ${PACES.join(', ')}`)
  const isRealTime = await takeRealTimePriority()
  const folder = await mkdtemp(join(tmpdir(), 'sluice-top-rate-'))
  const origin = await startOrigin({ folder, processors: String(first) })
  try {
    const plan: LoadPlan = {
      targets: [{ address: '127.0.0.1', port: Number(origin.addresses[0]?.split(':').at(-1)) }],
      requests: [{ method: 'GET', path: '/1k', host: HOST }],
      connections: 64,
      schedule: { kind: 'constant', perSecond: Number(perSecond), seconds: Number(seconds) },
      warmUpSeconds: 2,
      pace: known,
      assign: 'shared',
      deadlineMs: 0,
      timeoutMs: 5_000,
      isConnectionPerRequest: false,
      expected: { status: 200, bodyBytes: BODY_BYTES['1k'] },
      sourceAddresses: [],
    }
    const { ok, scheduled, lag, processorNs, answeredInAll, latency } = await runLoad(plan, {
      processors: String(second),
    })
    const isKept = ok === scheduled && lag.p50 < LAG_P50_US_MAX
    process.stdout.write(
      `${perSecond}/s for ${seconds} s, ${pace}, ${isRealTime ? 'real-time' : 'ordinary'} priority: ${ok} of ${scheduled} answered; ` +
        `lag p50 ${(lag.p50 / 1_000).toFixed(2)} ms, p99 ${(lag.p99 / 1_000).toFixed(2)} ms; ` +
        `latency p50 ${(latency.schedule.p50 / 1_000).toFixed(2)} ms; ` +
        `${(processorNs / 1_000 / answeredInAll).toFixed(1)} µs of CPU for a request: ` +
        `${isKept ? 'kept' : 'NOT kept'}\n`,
    )
    return isKept ? 0 : 1
  } finally {
    await origin.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

process.exitCode = await main(process.argv.slice(2))
