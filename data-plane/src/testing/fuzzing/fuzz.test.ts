import { expect, it } from 'vitest'
import { fuzz } from './fuzz.ts'

const SECONDS = 10

it.each([
  ['a fixed seed', 1],
  ['a fresh seed', Date.now() % 1_000_000],
])('the parsers keep their properties from %s, %i', { timeout: 60_000 }, (_name, seed) => {
  expect(fuzz(seed, SECONDS * 1_000)).toBeGreaterThan(1_000)
})
