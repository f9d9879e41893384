/** Feeds changed messages to the parsers until the time is up or a property does not hold. */
import { Random } from '../random.ts'
import { checkChunks } from './chunk-properties.ts'
import { ANSWERS, CHUNKS, REQUESTS } from './corpus.ts'
import { checkHead } from './head-properties.ts'
import { mutated } from './mutation.ts'

const ROUNDS_BETWEEN_LOOKS = 100

/** How many inputs were tried. Throws a FuzzFault with the input. */
export function fuzz(seed: number, ms: number): number {
  const random = new Random(seed)
  const endAt = performance.now() + ms
  let inputs = 0
  while (performance.now() < endAt) {
    for (let round = 0; round < ROUNDS_BETWEEN_LOOKS; round += 1) {
      checkHead(random, 'request', mutated(random, REQUESTS))
      checkHead(random, 'answer', mutated(random, ANSWERS))
      checkChunks(random, mutated(random, CHUNKS))
      inputs += 3
    }
  }
  return inputs
}
