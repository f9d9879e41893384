import { describe, expect, it } from 'vitest'
import { replayCommand } from './replay.ts'
import { Simulation } from './simulation.ts'

const SEEDS = 2_000

describe('the engine against an adversary', () => {
  it(`keeps its promises for ${SEEDS} seeds`, { timeout: 60_000 }, () => {
    let answered = 0
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      try {
        answered += new Simulation(seed).run().answered
      } catch (error) {
        throw new Error(`seed ${seed} breaks an invariant: ${replayCommand(seed)}`, {
          cause: error,
        })
      }
    }
    // Seeds whose clients all leave would prove nothing.
    expect(answered).toBeGreaterThan(3 * SEEDS)
  })

  it('does the same for the same seed', () => {
    const linesOf = (seed: number) => {
      const lines: string[] = []
      new Simulation(seed, (line) => lines.push(line.replace(/Date: [^\\]+/, ''))).run()
      return lines
    }
    for (const seed of [1, 2, 3]) expect(linesOf(seed)).toEqual(linesOf(seed))
  })
})
