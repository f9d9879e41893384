/** Changes an input in a few places, as the seed says. */
import type { Random } from '../random.ts'
import { PIECES } from './corpus.ts'

export function mutated(random: Random, corpus: readonly string[]): Buffer {
  let text = random.pick(corpus)
  const changes = random.between(0, 5)
  for (let change = 0; change < changes; change += 1) text = changed(random, corpus, text)
  return Buffer.from(text, 'latin1')
}

function changed(random: Random, corpus: readonly string[], text: string): string {
  const at = random.between(0, text.length)
  const to = Math.min(text.length, at + random.skewed(40))
  switch (random.between(0, 6)) {
    case 0:
      return text.slice(0, at) + random.pick(PIECES) + text.slice(at)
    case 1:
      return text.slice(0, at) + random.pick(PIECES) + text.slice(to)
    case 2:
      return text.slice(0, at) + text.slice(to + 1)
    case 3:
      return text.slice(0, to) + text.slice(at)
    case 4:
      return text.slice(0, at) + String.fromCharCode(random.between(0, 255)) + text.slice(at + 1)
    case 5:
      return text.slice(0, at) + random.pick(corpus).slice(random.between(0, 60))
    default:
      return withPieceAtLineStart(random, text)
  }
}

/** Where a whole field line does the most. */
function withPieceAtLineStart(random: Random, text: string): string {
  const starts = [...text.matchAll(/\r\n/g)].map(({ index }) => index + 2)
  if (starts.length === 0) return text
  const at = random.pick(starts)
  return text.slice(0, at) + random.pick(PIECES) + text.slice(at)
}
