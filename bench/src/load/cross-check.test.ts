import { expect, it } from 'vitest'
import { sentenceOf } from './cross-check.ts'
import { readReport } from './oha.ts'

it('the report of oha is read in microseconds, and refused where an answer was not 200', () => {
  const report = (statuses: Record<string, number>) =>
    JSON.stringify({
      latencyPercentiles: { p10: 0.0001, p50: 0.0005, p99: 0.002 },
      statusCodeDistribution: statuses,
    })
  expect(readReport(report({ 200: 1_000 }))).toEqual({ requests: 1_000, p50Us: 500, p99Us: 2_000 })
  expect(() => readReport(report({ 200: 999, 502: 1 }))).toThrow('oha was answered 502')
})

it('the outcome is one line, also where there is nothing to compare with', () => {
  expect(sentenceOf({ kind: 'no oha' })).toBe(
    'oha is not installed: the generator was not compared with it',
  )
  const check = {
    kind: 'compared',
    version: 'oha 1.15.0',
    ours: { p50Us: 220, p99Us: 900 },
    theirs: { p50Us: 200, p99Us: 1_000 },
    difference: { p50: 0.1, p99: -0.1 },
    verdict: 'within',
  } as const
  expect(sentenceOf(check)).toBe(
    'generator p50 220 µs, p99 900 µs; oha 1.15.0 p50 200 µs, p99 1000 µs: +10 % and −10 %, within 15 %',
  )
  const apart = { ...check, ours: { p50Us: 220, p99Us: 1_400 }, difference: { p50: 0.1, p99: 0.4 } }
  expect(sentenceOf({ ...apart, verdict: 'apart' })).toMatch(/\+40 %, NOT within 15 %$/)
  expect(sentenceOf({ ...apart, verdict: 'below the floor' })).toMatch(
    /\+40 %, not within 15 %, and no more than the 300 µs that shared CPUs cannot tell apart$/,
  )
})
