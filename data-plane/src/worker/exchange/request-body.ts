/** Finds the end of a request's body in what the client sends, and gives its data to the exchange. Hot. */
import { ChunkedDecoder, ChunkStep } from '../http1/chunked-decoder.ts'
import { BodyLength } from '../http1/framing.ts'
import type { HeadParser } from '../http1/head-parser.ts'

export const BodyState = Object.freeze({ MORE: 0, ENDED: 1, MALFORMED: 2 })

export interface BodySink {
  takeBody(bytes: Buffer, from: number, to: number): void
}

export class RequestBody {
  /** After `take`: where it stopped. */
  at = 0
  /** Bytes that are still to come, where the length is known. */
  remaining = 0
  #length: BodyLength = BodyLength.NONE
  #chunks: ChunkedDecoder | undefined

  /** The lines of the trailer section, once the body has ended. */
  get trailers(): string {
    return this.#length === BodyLength.CHUNKED ? (this.#chunks?.trailers ?? '') : ''
  }

  get isLengthKnown(): boolean {
    return this.#length === BodyLength.LENGTH
  }

  /** False: the request has no body. */
  begin(head: HeadParser): boolean {
    this.#length = head.bodyLength
    this.remaining = head.contentLength
    if (this.#length === BodyLength.CHUNKED) {
      this.#chunks ??= new ChunkedDecoder()
      this.#chunks.reset()
    }
    return this.#length !== BodyLength.NONE
  }

  take(sink: BodySink, bytes: Buffer, from: number, to: number): number {
    if (this.#length === BodyLength.CHUNKED) return this.#takeChunks(sink, bytes, from, to)
    const end = Math.min(to, from + this.remaining)
    this.remaining -= end - from
    this.at = end
    if (end > from) sink.takeBody(bytes, from, end)
    return this.remaining === 0 ? BodyState.ENDED : BodyState.MORE
  }

  /** Counts bytes that nobody wants, where the length is known. */
  drop(from: number, to: number): number {
    const end = Math.min(to, from + this.remaining)
    this.remaining -= end - from
    this.at = end
    return this.remaining === 0 ? BodyState.ENDED : BodyState.MORE
  }

  #takeChunks(sink: BodySink, bytes: Buffer, from: number, to: number): number {
    const chunks = this.#chunks
    this.at = from
    while (chunks !== undefined && this.at < to) {
      const step = chunks.step(bytes, this.at, to)
      if (step === ChunkStep.MALFORMED) return BodyState.MALFORMED
      this.at = chunks.at
      if (step === ChunkStep.ENDED) return BodyState.ENDED
      if (step === ChunkStep.DATA) sink.takeBody(bytes, chunks.dataStart, chunks.dataEnd)
    }
    return BodyState.MORE
  }
}
