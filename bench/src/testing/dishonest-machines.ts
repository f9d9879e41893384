/** Records that tests 15 to 28 must object to. */
import { type DishonestRecord, ours, parityOf, steadySeries } from './dishonest-parts.ts'
import { RAMP, STEADY, sampleArtifacts, sampleRampRows } from './sample-artifacts.ts'

export const DISHONEST_MACHINES: readonly DishonestRecord[] = [
  {
    number: 15,
    what: 'a task may run on the other CPU',
    artifacts: sampleArtifacts(
      ours('http1k', (run) => ({
        cpu: run.cpu === null ? null : { ...run.cpu, allowed: ['0-1'] },
      })),
    ),
    action: 'fail',
    text: /may run on CPUs 0-1/,
  },
  {
    number: 15,
    what: 'a proxy had more than its CPU',
    artifacts: sampleArtifacts(
      ours('http1k', (run) => ({
        cpu: run.cpu === null ? null : { ...run.cpu, run_ns: 1.4 * run.cpu.elapsed_ns },
      })),
    ),
    action: 'fail',
    text: /used 140 % of its CPUs/,
  },
  {
    number: 16,
    what: 'another process listens too',
    artifacts: sampleArtifacts(
      ours('http1k', () => ({ witness: ['self: 2 sockets listen on port 8080'] })),
    ),
    action: 'fail',
    text: /2 sockets listen/,
  },
  {
    number: 16,
    what: 'the version changed between runs',
    artifacts: sampleArtifacts(ours('http1k', () => ({ version: '0.9.0' }))),
    action: 'fail',
    text: /said it is 0\.9\.0/,
  },
  {
    number: 17,
    what: 'the counters span twice the run',
    artifacts: sampleArtifacts(
      ours('http1k', (run) => ({
        cpu: run.cpu === null ? null : { ...run.cpu, elapsed_ns: run.cpu.elapsed_ns * 2 },
      })),
    ),
    action: 'no-rank',
    text: /span 2\.00 times/,
  },
  {
    number: 17,
    what: 'a proxy is busy without load',
    artifacts: sampleArtifacts(
      ours('steady', (run) => ({
        cpu: run.cpu === null ? null : { ...run.cpu, idle_share: 0.04 },
      })),
    ),
    action: 'note',
    text: /4\.0 % of a CPU without load/,
  },
  {
    number: 18,
    what: 'memory was not read',
    artifacts: sampleArtifacts(
      ours('steady', () => ({ mem: { idle: null, loaded: null, after: null } })),
    ),
    action: 'note',
    text: /no memory figure idle/,
  },
  {
    number: 19,
    what: 'other programs had a CPU in one round of five',
    artifacts: sampleArtifacts(
      ours('http1k', (run) => (run.round === 2 ? { env: { ...run.env, foreign: 0.4 } } : {})),
    ),
    action: 'note',
    text: /round 3 of self was noisy: other programs had 40 %/,
  },
  {
    number: 19,
    what: 'a disturbed CPU in most rounds',
    artifacts: sampleArtifacts(
      ours('http1k', (run) =>
        run.round > 1
          ? { cpu: run.cpu === null ? null : { ...run.cpu, delay_ns: run.cpu.run_ns } }
          : {},
      ),
    ),
    action: 'no-rank',
    text: /3 of 5 rounds of http1k were disturbed: inconclusive/,
  },
  {
    number: 19,
    what: 'it becomes slower from round to round',
    artifacts: sampleArtifacts(
      ours('http1k', (run) => ({
        rps: 15_000 - 1_000 * run.round,
        ok: 150_000 - 10_000 * run.round,
      })),
    ),
    action: 'note',
    text: /drift/,
  },
  {
    number: 20,
    what: 'three rounds',
    artifacts: sampleArtifacts({ plan: { rounds: 3 } }),
    action: 'note',
    text: /http1k has 3 rounds, fewer than 5/,
  },
  {
    number: 20,
    what: 'a disturbed attempt was thrown away',
    artifacts: sampleArtifacts(ours('http1k', (run) => (run.round === 0 ? { attempt: 1 } : {}))),
    action: 'fail',
    text: /attempt 1 is missing/,
  },
  {
    number: 21,
    what: 'the last third is faster than the first',
    artifacts: sampleArtifacts({
      series: [
        {
          proxy: 'self',
          scenario: 'steady',
          round: 0,
          role: 'measured',
          rows: steadySeries([3_000, 3_000, 4_000, 4_000, 5_000, 5_000]),
        },
      ],
    }),
    action: 'note',
    text: /last third differs from the first by 67 %/,
  },
  {
    number: 22,
    what: 'no port was free',
    artifacts: sampleArtifacts(ours('http1k', (run) => ({ net: { ...run.net, out_of_ports: 7 } }))),
    action: 'no-rank',
    text: /7 × no free port/,
  },
  {
    number: 22,
    what: 'connections were dropped at accept',
    artifacts: sampleArtifacts(ours('http1k', (run) => ({ net: { ...run.net, listen_drops: 3 } }))),
    action: 'note',
    text: /3 connections dropped at accept/,
  },
  {
    number: 23,
    what: 'accept queues differ',
    artifacts: sampleArtifacts(parityOf({ backlog: 511 })),
    action: 'note',
    text: /self 511, nginx 4096/,
  },
  {
    number: 24,
    what: 'a debug build',
    artifacts: sampleArtifacts(parityOf({ debug: ['a debug build'] })),
    action: 'no-rank',
    text: /self is no release build/,
  },
  {
    number: 25,
    what: 'a configuration that nobody can see',
    artifacts: sampleArtifacts(parityOf({ configuration: '' })),
    action: 'no-rank',
    text: /configuration is not in the record/,
  },
  {
    number: 25,
    what: 'ours alone is tuned',
    artifacts: sampleArtifacts(parityOf({ knobs: ['a', 'b', 'c', 'd'] })),
    action: 'note',
    text: /4 settings of its own/,
  },
  {
    number: 26,
    what: 'a record without a layout',
    artifacts: sampleArtifacts({ environment: { layout: '' } }),
    action: 'fail',
    text: /does not say its layout/,
  },
  {
    number: 26,
    what: 'a run over loopback',
    artifacts: sampleArtifacts(),
    action: 'note',
    text: /local run over loopback/,
  },
  {
    number: 27,
    what: 'a ramp without one of the origin alone',
    artifacts: sampleArtifacts({
      plan: { scenarios: [STEADY, RAMP] },
      series: [
        {
          proxy: 'self',
          scenario: 'ramp',
          round: 0,
          role: 'measured',
          rows: sampleRampRows(14_000),
        },
      ],
    }),
    action: 'no-rank',
    text: /no ramp of the origin alone/,
  },
  {
    number: 27,
    what: 'a generator that is no faster than the best proxy',
    artifacts: sampleArtifacts({
      plan: { scenarios: [STEADY, RAMP] },
      series: [
        {
          proxy: 'self',
          scenario: 'ramp',
          round: 0,
          role: 'measured',
          rows: sampleRampRows(27_000),
        },
        {
          proxy: 'direct',
          scenario: 'ramp',
          round: 0,
          role: 'direct',
          rows: sampleRampRows(28_000),
        },
      ],
    }),
    action: 'note',
    text: /curves end there/,
  },
  {
    number: 28,
    what: 'a log on a pipe',
    artifacts: sampleArtifacts(parityOf({ log: 'pipe' })),
    action: 'no-rank',
    text: /logs into a pipe/,
  },
]
