import { describe, expect, it } from 'vitest'
import {
  bytesText,
  collectLabel,
  millisecondsText,
  parseCount,
  parseDuration,
  parseTime,
} from './values.ts'

describe('durations', () => {
  it.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each(['', '1', 'h', '0s', '-1h', '1.5h', '1h30m', '1w'])('refuses "%s"', (text) => {
    expect(() => parseDuration(text)).toThrow('It is not a duration')
  })
})

describe('times', () => {
  it('reads ISO text and milliseconds since the epoch', () => {
    expect(parseTime('2026-01-31T12:00:00Z')).toBe('2026-01-31T12:00:00.000Z')
    expect(parseTime('0')).toBe('1970-01-01T00:00:00.000Z')
  })

  it('reads an age as that long before now', () => {
    const before = Date.now()
    const age = Date.parse(parseTime('1h'))
    expect(age).toBeGreaterThanOrEqual(before - 3_600_000)
    expect(age).toBeLessThanOrEqual(Date.now() - 3_600_000)
  })

  it('refuses other text', () => {
    expect(() => parseTime('yesterday')).toThrow('It is neither a time')
  })
})

it('collects labels, whose values may hold an equals sign or nothing', () => {
  expect(collectLabel('b=x=y', collectLabel('a=', {}))).toEqual({ a: '', b: 'x=y' })
  expect(() => collectLabel('=x', {})).toThrow('It is not a label')
  expect(() => collectLabel('x', {})).toThrow('It is not a label')
})

it.each(['0', '-1', '1.5', 'x', ''])('refuses "%s" as a count', (text) => {
  expect(() => parseCount(text)).toThrow('It is not a whole number above 0.')
})

it('writes bytes and milliseconds for people', () => {
  expect([0, 1023, 1024, 1_572_864].map(bytesText)).toEqual(['0 B', '1023 B', '1.0 KiB', '1.5 MiB'])
  expect([0.1234, 9.994, 12.6, null].map(millisecondsText)).toEqual([
    '0.12 ms',
    '9.99 ms',
    '13 ms',
    '',
  ])
})
