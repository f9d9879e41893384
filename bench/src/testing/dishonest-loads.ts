/** Records that tests 1 to 14 must object to. */
import { CLOSED, type DishonestRecord, ours, parityOf } from './dishonest-parts.ts'
import {
  SAMPLE_TLS,
  sampleArtifacts,
  sampleLatencies,
  samplePercentiles,
} from './sample-artifacts.ts'

export const DISHONEST_LOADS: readonly DishonestRecord[] = [
  {
    number: 1,
    what: 'one request in 200 fails',
    artifacts: sampleArtifacts(
      ours('http1k', (run) => ({ status: { '502': Math.round(run.ok / 200) } })),
    ),
    action: 'note',
    text: /0\.50 % of http1k failed.*× 502/,
  },
  {
    number: 1,
    what: 'everything is 503',
    artifacts: sampleArtifacts(
      ours('http1k', (run) => ({ ok: 0, rps: 0, status: { '503': run.ok } })),
    ),
    action: 'no-rank',
    text: /100 % of http1k failed/,
  },
  {
    number: 2,
    what: 'the generator is the limit',
    artifacts: sampleArtifacts(ours('http1k', () => ({ bound: 'generator' }))),
    action: 'no-rank',
    text: /generator-bound/,
  },
  {
    number: 2,
    what: 'two proxies answer alike and neither is busy',
    artifacts: sampleArtifacts({
      run: (run) =>
        run.cpu === null || run.scenario !== 'http1k'
          ? {}
          : { bound: 'latency', rps: 20_000, ok: 200_000, cpu: { ...run.cpu, run_ns: 5e9 } },
    }),
    action: 'note',
    text: /client ceiling/,
  },
  {
    number: 3,
    what: 'a closed loop has latency = connections ÷ rate',
    artifacts: sampleArtifacts({
      plan: { scenarios: [CLOSED] },
      run: (run) => {
        const mean = (64 / run.all_rps) * 1e6
        const one = { ...samplePercentiles(run.ok), mean }
        return { lat_us: { service: one, release: one, sched: one } }
      },
    }),
    action: 'note',
    text: /saturated, closed loop/,
  },
  {
    number: 4,
    what: 'requests go out in bursts',
    artifacts: sampleArtifacts(ours('steady', () => ({ burst_index: 9.8 }))),
    action: 'no-rank',
    text: /burst index 9\.8/,
  },
  {
    number: 5,
    what: 'a fiftieth of the schedule was not sent',
    artifacts: sampleArtifacts(
      ours('steady', (run) => ({
        unsent: run.ok / 50,
        ok: run.ok - run.ok / 50,
        rps: run.rps * 0.98,
      })),
    ),
    action: 'fail',
    text: /only 98 % of the schedule/,
  },
  {
    number: 5,
    what: 'the generator is as late as the latency is long',
    artifacts: sampleArtifacts(
      ours('steady', (run) => ({ lag_us: samplePercentiles(run.ok, 0.8) })),
    ),
    action: 'note',
    text: /generator-limited resolution/,
  },
  {
    number: 6,
    what: 'the steady rate is three quarters of the limit',
    artifacts: sampleArtifacts(
      ours('steady', (run) => ({
        cpu: run.cpu === null ? null : { ...run.cpu, run_ns: 0.75 * run.cpu.elapsed_ns },
      })),
    ),
    action: 'note',
    text: /uses 75 % of self's limit: its p99 is queueing/,
  },
  {
    number: 7,
    what: 'a latency reached the top of the histogram',
    artifacts: sampleArtifacts(
      ours('steady', (run) => ({
        lat_us: {
          ...sampleLatencies(run.ok),
          sched: { ...samplePercentiles(run.ok), max: 60_000_000, saturated: true },
        },
      })),
    ),
    action: 'note',
    text: /saturated at 60 s/,
  },
  {
    number: 8,
    what: 'p99 is below p90',
    artifacts: sampleArtifacts(
      ours('steady', (run) => ({
        lat_us: { ...sampleLatencies(run.ok), sched: { ...samplePercentiles(run.ok), p99: 10 } },
      })),
    ),
    action: 'fail',
    text: /percentiles of sched do not rise/,
  },
  {
    number: 8,
    what: 'the rate is not the count over the time',
    artifacts: sampleArtifacts(ours('http1k', (run) => ({ rps: run.rps * 2 }))),
    action: 'fail',
    text: /by rate but \d+ by count/,
  },
  {
    number: 9,
    what: 'a hundred requests vanished',
    artifacts: sampleArtifacts(ours('steady', (run) => ({ scheduled: run.scheduled + 100 }))),
    action: 'fail',
    text: /50100 were scheduled, 50000 are accounted for/,
  },
  {
    number: 10,
    what: 'a p99 of 2,000 samples',
    artifacts: sampleArtifacts(ours('steady', () => ({ lat_us: sampleLatencies(2_000) }))),
    action: 'note',
    text: /2000 samples, too few for p99/,
  },
  {
    number: 11,
    what: 'one adds no X-Forwarded-Proto',
    artifacts: sampleArtifacts(
      parityOf({ requestFieldsAdded: ['X-Forwarded-For', 'X-Forwarded-Host'] }),
    ),
    action: 'note',
    text: /self adds no x-forwarded-proto/,
  },
  {
    number: 12,
    what: 'one resumes no sessions',
    artifacts: sampleArtifacts(parityOf({ tls: { ...SAMPLE_TLS, isResumed: false } })),
    action: 'note',
    text: /full handshakes/,
  },
  {
    number: 12,
    what: 'one serves another certificate',
    artifacts: sampleArtifacts(parityOf({ tls: { ...SAMPLE_TLS, fingerprint: 'CC' } })),
    action: 'fail',
    text: /fingerprint CC instead of AA:BB/,
  },
  {
    number: 13,
    what: 'half of the answers came from a cache',
    artifacts: sampleArtifacts(ours('http1k', (run) => ({ origin_requests: run.ok / 2 }))),
    action: 'fail',
    text: /answered without it/,
  },
  {
    number: 14,
    what: 'requests were sent to the origin again',
    artifacts: sampleArtifacts(ours('steady', (run) => ({ origin_requests: run.ok * 1.1 }))),
    action: 'note',
    text: /sent again/,
  },
  {
    number: 14,
    what: 'access-log lines were dropped',
    artifacts: sampleArtifacts(parityOf({ log: 'file', logLinesPerRequest: 0.96 })),
    action: 'note',
    text: /left out 4\.0 % of its access-log lines/,
  },
]
