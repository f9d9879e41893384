/**
 * Times the hot parts of the data plane by themselves: `npm run bench:micro [-- NAME…]` for all, or for those
 * whose source path has one of the names. Imports sources, which nothing else here does.
 */
import { availableParallelism, cpus, loadavg } from 'node:os'
import { Bench } from 'tinybench'
import { benchmarks } from './benchmarks.ts'
import type { MicroBenchmark } from './micro-benchmark.ts'

const SECONDS_PER_CASE = 1
const NS_PER_MS = 1e6

async function time({ source, cases }: MicroBenchmark): Promise<void> {
  const bench = new Bench({ time: SECONDS_PER_CASE * 1000, throws: true })
  const sums: number[] = []
  for (const [index, { name, run }] of cases.entries()) {
    bench.add(name, () => {
      sums[index] = run()
    })
  }
  await bench.run()
  process.stdout.write(`\n${source}\n`)
  for (const [index, task] of bench.tasks.entries()) {
    const { result } = task
    if (!('latency' in result)) throw new Error(`${task.name}: no result`)
    const operations = cases[index]?.operations ?? 1
    const nsOf = (ms: number) => ((ms * NS_PER_MS) / operations).toFixed(1).padStart(9)
    const { p50, p99, rme } = result.latency
    process.stdout.write(
      `  ${task.name.padEnd(56)}${nsOf(p50)} ns, slowest runs ${nsOf(p99)} ns, ±${rme.toFixed(1)} %, checksum ${sums[index]}\n`,
    )
  }
}

const wanted = process.argv.slice(2)
const chosen = benchmarks.filter(
  ({ source }) => wanted.length === 0 || wanted.some((name) => source.includes(name)),
)
if (chosen.length === 0) {
  process.stderr.write(`no benchmark is named ${wanted.join(' or ')}\n`)
  process.exit(2)
}
process.stdout.write(
  `Node ${process.version}, ${availableParallelism()} CPUs (${cpus()[0]?.model ?? 'unknown'}), load ${loadavg()[0]?.toFixed(1)}; median and p99 of runs, per operation\n`,
)
for (const benchmark of chosen) await time(benchmark)
