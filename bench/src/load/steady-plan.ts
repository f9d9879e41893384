/** What the steady generator is told, and what it answers: one JSON text each way. */

export interface SteadyPlan {
  readonly port: number
  readonly host: string
  readonly path: string
  readonly bodyBytes: number
  readonly connections: number
  readonly perSecond: number
  readonly seconds: number
  /** At the same rate before the measured seconds; its requests are counted apart. */
  readonly warmUpSeconds: number
}

export interface SteadyReport {
  /** All answers, those of the warm-up included: what CPU time is divided by. */
  readonly answered: number
  /** Due and not answered: a proxy or a generator that did not keep up. */
  readonly unanswered: number
  /** Found no free connection when they were due. */
  readonly waited: number
  /** From the due time to the last byte, or to the end for what was not answered. */
  readonly latencyUs: Percentiles
  /** From the due time to the moment when the generator came to it: its own fault. */
  readonly latenessUs: Percentiles
}

export interface Percentiles {
  readonly p50: number
  readonly p99: number
  readonly most: number
}
