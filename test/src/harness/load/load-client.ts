/**
 * The load client, a process of its own: keep-alive connections through undici, one request at a time on
 * each, every body compared by hash with what it must be. Speaks with the test by messages (plan.ts).
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'undici'
import { hashOf, PATTERN_BYTES, pattern } from './pattern.ts'
import type { LoadCommand, LoadEvent, LoadPlan, LoadResult } from './plan.ts'

const BODY_BYTES_MAX = 8 * 1024 * 1024
const SIZES_MAX = 96
const FAILURES_MAX = 20
const STALL_MS = 60_000
const PROGRESS_MS = 100

interface Request {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: Buffer | undefined
  readonly isChunked: boolean
  readonly hash: string
}

class LoadClient {
  readonly #plan: LoadPlan
  readonly #mix: readonly Request[]
  readonly #startedAt = performance.now()
  readonly #failures: string[] = []
  #isStopping = false
  #sent = 0
  #succeeded = 0
  #failed = 0
  #bytes = 0
  #connectionsOpened = 0

  constructor(plan: LoadPlan) {
    this.#plan = plan
    this.#mix = plan.work === 'mixed' ? mixedRequests() : [smallRequest(plan)]
  }

  get progress(): LoadEvent {
    return { kind: 'progress', sent: this.#sent, failed: this.#failed }
  }

  stop(): void {
    this.#isStopping = true
  }

  async run(): Promise<LoadResult> {
    const connections = Array.from({ length: this.#plan.connections }, (_, index) =>
      this.#connection(index),
    )
    await Promise.all(connections)
    return {
      sent: this.#sent,
      succeeded: this.#succeeded,
      failed: this.#failed,
      failures: this.#failures,
      bytes: this.#bytes,
      connectionsOpened: this.#connectionsOpened,
    }
  }

  async #connection(index: number): Promise<void> {
    const { port, host, ca } = this.#plan
    const scheme = ca === undefined ? 'http' : 'https'
    const client = new Client(`${scheme}://127.0.0.1:${port}`, {
      keepAliveTimeout: 3_600_000,
      keepAliveMaxTimeout: 3_600_000,
      headersTimeout: STALL_MS,
      bodyTimeout: STALL_MS,
      ...(ca === undefined ? {} : { connect: { ca, servername: host } }),
    })
    client.on('connect', () => {
      this.#connectionsOpened += 1
    })
    // Each connection walks through the mix from a place of its own, in steps that meet every request.
    for (let turn = index * 31; !this.#isDone; turn += 37) {
      const request = this.#mix[turn % this.#mix.length]
      if (request === undefined) break
      this.#sent += 1
      await this.#exchange(client, request)
      await this.#pace()
    }
    await client.destroy()
  }

  get #isDone(): boolean {
    return this.#isStopping || this.#sent >= (this.#plan.requestsMax ?? Number.POSITIVE_INFINITY)
  }

  async #exchange(client: Client, request: Request): Promise<void> {
    try {
      const answer = await client.request({
        method: request.method,
        path: request.path,
        headers: { host: this.#plan.host },
        body: request.isChunked ? Readable.from(inParts(request.body)) : (request.body ?? null),
      })
      const hash = createHash('sha256')
      let length = 0
      for await (const part of answer.body as AsyncIterable<Buffer>) {
        hash.update(part)
        length += part.length
      }
      this.#bytes += length
      const isRight = hash.digest('hex') === request.hash
      if (answer.statusCode === 200 && isRight) this.#succeeded += 1
      else this.#fail(request, `status ${answer.statusCode}, ${length} bytes, right: ${isRight}`)
    } catch (error) {
      this.#fail(request, String(error))
    }
  }

  #fail(request: Request, reason: string): void {
    this.#failed += 1
    const at = Math.round(performance.now() - this.#startedAt)
    if (this.#failures.length < FAILURES_MAX) {
      this.#failures.push(`${at} ms: ${request.method} ${request.path}: ${reason}`)
    }
  }

  async #pace(): Promise<void> {
    const { requestsPerSecondMax } = this.#plan
    if (requestsPerSecondMax === undefined) return
    const dueAt = this.#startedAt + (this.#sent / requestsPerSecondMax) * 1000
    const early = dueAt - performance.now()
    if (early > 0) await delay(early)
  }
}

function smallRequest(plan: LoadPlan): Request {
  const { path = '/', expected = '' } = plan
  return {
    method: 'GET',
    path,
    body: undefined,
    isChunked: false,
    hash: hashOf(Buffer.from(expected)),
  }
}

/** Sizes grow by equal factors from 1 byte to 8 MB; downloads, uploads with a length and in chunks in turn. */
function mixedRequests(): Request[] {
  return Array.from({ length: SIZES_MAX * 3 }, (_, index) => {
    const step = Math.floor(index / 3)
    const length = Math.round(BODY_BYTES_MAX ** (step / (SIZES_MAX - 1)))
    const offset = (index * 65_537) % (PATTERN_BYTES - BODY_BYTES_MAX)
    const content = pattern(offset, length)
    const hash = hashOf(content)
    const way = index % 3
    const isChunked = index % 6 >= 3
    if (way === 0) {
      const path = `/bytes?offset=${offset}&length=${length}${isChunked ? '&chunked' : ''}`
      return { method: 'GET', path, body: undefined, isChunked: false, hash }
    }
    return { method: 'POST', path: `/echo/${length}`, body: content, isChunked: way === 2, hash }
  })
}

async function* inParts(content: Buffer | undefined): AsyncGenerator<Buffer> {
  const size = 48 * 1024
  for (let at = 0; content !== undefined && at < content.length; at += size) {
    yield content.subarray(at, at + size)
  }
}

const { promise: planned, resolve: plan } = Promise.withResolvers<LoadClient>()
process.on('message', (command: LoadCommand) => {
  if (command.kind === 'start') plan(new LoadClient(command.plan))
  else void planned.then((client) => client.stop())
})
process.once('disconnect', () => process.exit(0))
const tell = (event: LoadEvent) => process.send?.(event)
const client = await planned
const progress = setInterval(() => tell(client.progress), PROGRESS_MS)
const result = await client.run()
clearInterval(progress)
tell({ kind: 'result', result })
