/** Fields after the last chunk: some that go on, and some that a later reader might act on. */
import type { Random } from '../random.ts'

export interface PlannedTrailers {
  /** Lines with their CRLF. */
  readonly sent: string
  /** Of these, what may be passed on. */
  readonly kept: string
}

export const NO_TRAILERS: PlannedTrailers = { sent: '', kept: '' }

const CHOICES: readonly PlannedTrailers[] = [
  { sent: 'X-Trailer: 1\r\n', kept: 'X-Trailer: 1\r\n' },
  { sent: 'Content-Length: 9\r\n', kept: '' },
  { sent: 'X-Forwarded-For: 6.6.6.6\r\nX-Sum: a b\r\n', kept: 'X-Sum: a b\r\n' },
]

export function pickTrailers(random: Random): PlannedTrailers {
  return random.chance(0.1) ? random.pick(CHOICES) : NO_TRAILERS
}
