import { describe, expect, it } from 'vitest'
import { summarise } from '../summary/summarise.ts'
import { sampleArtifacts, sampleRamp, sampleSweep } from '../testing/sample-artifacts.ts'
import { renderPage } from './html/page.ts'
import { compact, linearScale, logScale } from './html/scale.ts'
import { renderMarkdown } from './markdown.ts'
import { renderTerminal } from './terminal.ts'

const BYTES_MAX = 1_000_000

describe('tables', () => {
  it.each([
    ['dnz', sampleArtifacts()],
    ['zoxy', sampleRamp()],
    ['aralez', sampleSweep()],
    ['rpxy', sampleSweep()],
  ] as const)('are those of the %s page', (page, artifacts) => {
    expect(renderMarkdown(summarise(artifacts), page)).toMatchSnapshot()
  })

  it('of the terminal say medians, spread, ratios and what was the limit', () => {
    expect(renderTerminal(summarise(sampleArtifacts()))).toMatchSnapshot()
  })

  it('print a dash for what was not measured, never a zero', () => {
    const artifacts = sampleArtifacts({ environment: { missing: { haproxy: 'no package' } } })
    const runs = artifacts.runs.filter(({ proxy }) => proxy !== 'haproxy')
    const text = renderMarkdown(summarise({ ...artifacts, runs }))
    expect(text).toContain('| haproxy (not installed) | – |')
  })
})

describe('the page', () => {
  const hostile = sampleArtifacts({ plan: { runId: '</script><img src=x onerror=alert(1)>' } })

  it.each([
    ['dnz', sampleArtifacts()],
    ['ramp', sampleRamp()],
    ['sweep', sampleSweep()],
  ])('of %s is one file that names nothing to load', (_name, artifacts) => {
    const page = renderPage(summarise(artifacts))
    expect(page).not.toMatch(/(?:src|href)="(?!data:)/)
    expect(page).not.toMatch(/@import|url\(/)
    expect(Buffer.byteLength(page)).toBeLessThan(BYTES_MAX)
  })

  it('escapes what records say', () => {
    expect(renderPage(summarise(hostile))).not.toContain('<img src=x')
  })
})

describe('an axis', () => {
  it('has steps of 1, 2, 2.5 and 5 that cover the data', () => {
    expect(linearScale([37_123], [0, 100]).ticks).toEqual([0, 10_000, 20_000, 30_000, 40_000])
    expect(linearScale([0.9], [0, 100]).ticks.at(-1)).toBeGreaterThanOrEqual(0.9)
  })

  it('has whole decades where it is logarithmic', () => {
    expect(logScale([0.3, 45], [0, 100]).ticks).toEqual([0.1, 1, 10, 100])
  })

  it.each([
    [0, '0'],
    [950, '950'],
    [12_500, '12.5k'],
    [2_000_000, '2M'],
  ])('writes %d as %s', (value, text) => {
    expect(compact(value)).toBe(text)
  })
})
