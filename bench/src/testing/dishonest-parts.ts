/** Small changes that make a sample record dishonest in one way. */
import type { Artifacts, ParityRecord, RunRecord } from '../artifacts/records.ts'
import type { Action } from '../honesty/honesty-test.ts'
import {
  type SampleParts,
  sampleParity,
  sampleRampRows,
  sampleScenario,
} from './sample-artifacts.ts'

export interface DishonestRecord {
  readonly number: number
  readonly what: string
  readonly artifacts: Artifacts
  readonly action: Action
  readonly text: RegExp
}

/** Changes the runs of our node in one scenario. */
export function ours(
  scenario: string,
  change: (run: RunRecord) => Partial<RunRecord>,
): SampleParts {
  return {
    run: (run) =>
      run.proxy === 'self' && run.scenario === scenario && run.role === 'measured'
        ? change(run)
        : {},
  }
}

export function parityOf(over: Partial<ParityRecord>): SampleParts {
  const parity = ['self', 'nginx', 'haproxy'].map((proxy) =>
    sampleParity({ proxy, ...(proxy === 'self' ? over : {}) }),
  )
  return { parity }
}

export const CLOSED = sampleScenario({ key: 'http1k', tool: 'generator', kind: 'closed' })
export const steadySeries = (rates: readonly number[]) =>
  sampleRampRows(50_000, { seconds: rates.length }).map((row, index) => ({
    ...row,
    ok_rate: rates[index] ?? 0,
  }))
