import { describe, expect, it } from 'vitest'
import { describeSelector, isInStage, parseStagePlan } from './stage-plan.ts'

describe('the plan of a stage', () => {
  it('has its selector, its hold and its bounds', () => {
    const text = 'canary=label:site=berlin,hold=90s,max-5xx=1.5%,max-p99=+50%,min-requests=20'
    expect(parseStagePlan(text)).toEqual({
      name: 'canary',
      selector: { kind: 'label', key: 'site', value: 'berlin' },
      holdMs: 90_000,
      max5xx: 0.015,
      maxP99: 0.5,
      minRequests: 20,
    })
  })

  it('has defaults for what is not said', () => {
    expect(parseStagePlan('one=node:edge-1')).toEqual({
      name: 'one',
      selector: { kind: 'node', name: 'edge-1' },
      holdMs: 120_000,
      max5xx: null,
      maxP99: null,
      minRequests: 100,
    })
  })

  it.each([
    ['', 'has the name ""'],
    ['canary', 'selects ""'],
    ['canary=all', 'selects "all"'],
    ['canary=label:a,hold=0s', 'has hold=0s'],
    ['canary=label:a,hold=25h', 'has hold=25h'],
    ['canary=label:a,hold=1s,hold=2s', 'has hold twice'],
    ['canary=label:a,max-5xx=1', 'has max-5xx=1'],
    ['canary=label:a,min-requests=-1', 'has min-requests=-1'],
  ])('is refused as %j', (text, reason) => {
    expect(() => parseStagePlan(text)).toThrow(reason)
  })

  it.each([
    ['label:site', { site: 'oslo' }, true],
    ['label:site', {}, false],
    ['label:site=oslo', { site: 'oslo', more: '1' }, true],
    ['label:site=oslo', { site: 'berlin' }, false],
    ['node:n1', {}, true],
    ['node:n2', { n2: '' }, false],
  ])('%s selects node n1 with %j: %s', (selector, labels, isSelected) => {
    const plan = parseStagePlan(`s=${selector}`)
    expect(isInStage(plan.selector, { name: 'n1', labels })).toBe(isSelected)
    expect(describeSelector(plan.selector)).toBe(selector)
  })
})
