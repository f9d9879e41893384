import { describe, expect, it } from 'vitest'
import { DISHONEST_LOADS } from '../testing/dishonest-loads.ts'
import { DISHONEST_MACHINES } from '../testing/dishonest-machines.ts'
import { steadySeries } from '../testing/dishonest-parts.ts'
import { sampleArtifacts, sampleRamp } from '../testing/sample-artifacts.ts'
import { examine, HONESTY_TESTS } from './examine.ts'

const DISHONEST_RECORDS = [...DISHONEST_LOADS, ...DISHONEST_MACHINES]

describe('every honesty test fires', () => {
  it.each(DISHONEST_RECORDS.map((one) => [one.number, one.what, one] as const))(
    'test %i: %s',
    (number, _what, { artifacts, action, text }) => {
      const found = examine(artifacts).filter(({ test }) => test === number)
      expect(found).toContainEqual(
        expect.objectContaining({ action, text: expect.stringMatching(text) }),
      )
    },
  )

  it('and each of the 28 has a case here', () => {
    expect([...new Set(DISHONEST_RECORDS.map(({ number }) => number))]).toEqual(
      HONESTY_TESTS.map(({ number }) => number),
    )
    expect(HONESTY_TESTS.map(({ number }) => number)).toEqual(
      Array.from({ length: 28 }, (_, index) => index + 1),
    )
  })
})

describe('every honesty test is silent where all is well', () => {
  const remote = sampleArtifacts({
    environment: { isLocal: false, layout: '3 machines' },
    series: [
      {
        proxy: 'self',
        scenario: 'steady',
        round: 0,
        role: 'measured',
        rows: steadySeries([5_000, 5_010, 4_990, 5_000, 5_000, 5_000]),
      },
    ],
  })

  it.each(HONESTY_TESTS.map((test) => [test.number, test.name, test] as const))(
    'test %i: %s',
    (_number, _name, test) => {
      expect(test.look(remote)).toEqual([])
    },
  )

  it('test 27 is silent where the generator reaches far beyond the best', () => {
    const notes = examine(sampleRamp()).filter(({ test }) => test === 27)
    expect(notes).toEqual([])
  })
})
