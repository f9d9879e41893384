/** What a micro benchmark is: a few cases of one source file's hot work, each a fixed number of operations. */

export interface MicroBenchmark {
  /** From the repository's root; the benchmark's own path is the same below bench/micro. */
  readonly source: string
  readonly cases: readonly MicroCase[]
}

export interface MicroCase {
  readonly name: string
  /** In one run: so many that reading the clock costs nothing beside them. */
  readonly operations: number
  /** Does them all. The sum is the same for every run, and keeps the compiler from leaving work out. */
  run(): number
}
