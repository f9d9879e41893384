/** Deciding whether an exchange becomes a log line: where nearly none does, where all do, and where logs are off. */
import { LogSampler } from '../../../../../../data-plane/src/worker/observe/log-sampler.ts'
import type { MicroBenchmark, MicroCase } from '../../../../micro-benchmark.ts'

const OPERATIONS = 20_000
const SECOND_MS = 1_000

type Line = Parameters<LogSampler['put']>[0]

const LINE: Line = {
  timeMs: 0n,
  router: 'one',
  service: 'service',
  server: '127.0.0.1:8080',
  entryPoint: 'web',
  clientAddress: '192.0.2.1',
  method: 'GET',
  host: 'one.example.com',
  path: '/1k',
  protocol: 'HTTP/1.1',
  status: 200,
  outcome: 0,
  bytesIn: 120n,
  bytesOut: 1_240n,
  durationUs: 310n,
  firstByteUs: 250n,
  attempts: 1,
  userAgent: '',
  weight: 1,
  query: '',
  referrer: '',
  requestId: '',
  tlsVersion: '',
}

/** Marsaglia's xorshift32, begun anew for each run, so that each chooses the same lines. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

/** Each run is one second of so many exchanges. */
function deciding(name: string, capacity: number): MicroCase {
  return {
    name,
    operations: OPERATIONS,
    run: () => {
      const sampler = new LogSampler(randomFrom(0x9e3779b9))
      sampler.capacity = capacity
      let chosen = 0
      for (let count = 0; count < OPERATIONS; count += 1) {
        if (!sampler.chooses(SECOND_MS, false)) continue
        sampler.put(LINE)
        chosen += 1
      }
      return chosen + sampler.takeAll().length
    },
  }
}

export const logSamplerBenchmark: MicroBenchmark = {
  source: 'data-plane/src/worker/observe/log-sampler.ts',
  cases: [
    deciding('20,000 exchanges a second, 100 lines kept', 100),
    deciding('20,000 exchanges a second, all lines kept', OPERATIONS),
    deciding('20,000 exchanges a second, no lines', 0),
  ],
}
