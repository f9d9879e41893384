import { describe, expect, it } from 'vitest'
import { parseStagePlan } from '../model/stage-plan.ts'
import type { TrafficRecord } from '../store/telemetry.ts'
import { bucketOf, LatencyHistogram } from '../telemetry/histogram.ts'
import { Answers, judge } from './stage-comparison.ts'

const nothing = new Uint8Array()

function answers(success: number, serverErrors = 0, slowestUs = 1_000): Answers {
  const latency = new LatencyHistogram()
  latency.add(bucketOf(slowestUs), success + serverErrors)
  const row: TrafficRecord = {
    ...{ minute_ms: 0, node: 'n', router: 'r', service: 's' },
    ...{ informational: 0, success, redirection: 0, client_error: 0 },
    ...{ server_error: serverErrors, none: 0, bytes_in: 0, bytes_out: 0, retries: 0 },
    ...{ latency: latency.pack(), first_byte: nothing, breakdown: nothing },
  }
  const sum = new Answers()
  sum.add(row)
  return sum
}

const plan = parseStagePlan('c=label:a,max-5xx=1%,max-p99=+50%,min-requests=100')

describe('the answers of a stage', () => {
  it.each([
    ['as good as the others', answers(1_000), answers(9_000), 'good'],
    ['as bad as the others', answers(500, 500), answers(4_500, 4_500), 'good'],
    ['1.5 % more 5xx', answers(985, 15), answers(9_000), 'bad'],
    ['0.9 % more 5xx', answers(991, 9), answers(9_000), 'good'],
    ['p99 twice as long', answers(1_000, 0, 2_000), answers(9_000), 'bad'],
    ['p99 a little longer', answers(1_000, 0, 1_300), answers(9_000), 'good'],
    ['p99 longer than that of a few', answers(1_000, 0, 2_000), answers(9), 'good'],
    ['too few', answers(99), answers(9_000), 'unsure'],
  ])('are judged by the others: %s', (_name, selected, others, kind) => {
    expect(judge(plan, selected, others).kind).toBe(kind)
  })

  it('are not looked at without a bound', () => {
    expect(judge(parseStagePlan('c=label:a'), answers(0, 10), answers(10)).kind).toBe('good')
  })
})
