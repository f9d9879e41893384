import { describe, expect, it } from 'vitest'
import { Random } from '../random.ts'
import { framingOf, MessageReader } from './message-reader.ts'
import { type PlannedAnswer, planAnswer } from './planned-answer.ts'
import { type PlannedRequest, planRequests } from './planned-request.ts'
import { Stage, type StagePeer, WILLING } from './stage.ts'
import type { Temper } from './surroundings.ts'

const SEEDS = 250
const SPLITS = 5
const BYTE_BY_BYTE: Temper = { ...WILLING, splitBytesMax: 1 }

/** What both sides saw: heads to the byte, bodies without the chunks, whose cuts are ours to choose. */
interface Outcome {
  readonly atServer: string
  readonly atClient: string
}

/** A text without dates, with the bodies of chunked messages taken out of their chunks. */
function unchunked(text: string, isAnswer: boolean, isHead: boolean): string {
  let seen = ''
  const reader = new MessageReader({
    onHead(head) {
      seen += `${head.startLine}\n${head.fields.map((field) => field.join(': ')).join('\n')}\n\n`
      if (isAnswer && / 1\d\d /.test(head.startLine)) return undefined
      const isBodiless = isAnswer && (isHead || / (?:204|304) /.test(head.startLine))
      if (isBodiless) return { kind: 'none' }
      return framingOf(head) ?? { kind: isAnswer ? 'until-close' : 'none' }
    },
    onBody(part) {
      seen += part
    },
    onMessageEnd(trailers) {
      seen += `${trailers}<end>`
    },
  })
  reader.take(Buffer.from(text, 'latin1'))
  return seen.replace(/\ndate: \w{3}, .*\n/, '\n')
}

function outcomeOf(
  request: PlannedRequest,
  answer: PlannedAnswer,
  temper: Temper,
  seed: number,
): Outcome {
  const stage = new Stage(seed, temper)
  stage.onServer = (server) => answerWhenWhole(server, request, answer)
  const client = stage.openClient()
  client.send(request.bytes.toString('latin1'))
  // Longer than any time-out.
  stage.pass(200_000)
  const isHead = request.method === 'HEAD'
  return {
    atServer: unchunked(stage.servers.map(({ received }) => received).join(''), false, false),
    atClient: `${unchunked(client.received, true, isHead)} ${client.ending}`,
  }
}

function answerWhenWhole(server: StagePeer, request: PlannedRequest, answer: PlannedAnswer): void {
  let isAnswered = false
  server.onReceived = (received) => {
    const isWhole = unchunked(received, false, false).endsWith('<end>')
    if (!isWhole || isAnswered || request.fault !== 'none') return
    isAnswered = true
    server.transport.peerSends(answer.bytes)
    if (answer.ending === 'fin') server.transport.peerEnds()
    else if (answer.ending === 'close') server.transport.peerCloses()
    else if (answer.ending === 'reset') server.transport.peerResets('ECONNRESET')
  }
}

function firstWith(seed: number): [PlannedRequest, PlannedAnswer] | undefined {
  const random = new Random(seed)
  const request = planRequests(random, 0, false).find(({ fault }) => fault !== 'cut')
  if (request === undefined || request.bytes.length > 40_000) return undefined
  const answer = planAnswer(random, request, false)
  return answer.bytes.length > 40_000 ? undefined : [request, answer]
}

describe('a request and its answer', () => {
  it('give the same forwarded bytes however they are split', { timeout: 60_000 }, () => {
    let compared = 0
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const planned = firstWith(seed)
      if (planned === undefined) continue
      const [request, answer] = planned
      const whole = outcomeOf(request, answer, WILLING, seed)
      for (let split = 1; split <= SPLITS; split += 1) {
        const random = new Random(seed * SPLITS + split)
        const temper =
          split === 1
            ? BYTE_BY_BYTE
            : { ...WILLING, splitBytesMax: random.pick([2, 20, 500, 9_000]) }
        const other = outcomeOf(request, answer, temper, seed * SPLITS + split)
        expect(other.atClient, `seed ${seed}`).toBe(whole.atClient)
        // A part of a body that turns out malformed may have gone on before.
        if (request.fault !== 'body') expect(other.atServer, `seed ${seed}`).toBe(whole.atServer)
        compared += 1
      }
    }
    expect(compared).toBeGreaterThan(SEEDS * SPLITS * 0.8)
  })
})
