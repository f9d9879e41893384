/**
 * One browser that listens. Of each event only the newest waits for a slow reader, so what is kept for it
 * never grows: an event says that something changed, and the reader asks what it is now.
 */
import type { ServerResponse } from 'node:http'
import { apiLimits } from './limits.ts'

export type EventName = 'version' | 'nodes' | 'traffic'

export class EventReader {
  readonly #response: ServerResponse
  readonly #heartbeat: NodeJS.Timeout
  readonly #expiry: NodeJS.Timeout
  readonly #waiting = new Map<EventName, string>()
  #gathering: NodeJS.Timeout | undefined
  #isBlocked = false

  constructor(response: ServerResponse, onEnd: () => void) {
    this.#response = response
    this.#heartbeat = setInterval(() => this.#beat(), apiLimits.eventHeartbeatMs)
    this.#expiry = setTimeout(() => this.end(), apiLimits.eventStreamMs)
    response.on('error', () => this.end())
    response.on('close', () => {
      clearInterval(this.#heartbeat)
      clearTimeout(this.#expiry)
      clearTimeout(this.#gathering)
      onEnd()
    })
    response.on('drain', () => {
      this.#isBlocked = false
      this.#send()
    })
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    })
    this.#write('retry: 3000\n\n')
  }

  tell(name: EventName, data: object): void {
    this.#waiting.set(name, JSON.stringify(data))
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.#send()
    }, apiLimits.eventGatherMs)
  }

  end(): void {
    this.#response.end()
  }

  #beat(): void {
    if (!this.#isBlocked) this.#write(': heartbeat\n\n')
  }

  #send(): void {
    if (this.#isBlocked || this.#waiting.size === 0) return
    const text = [...this.#waiting].map(([name, data]) => `event: ${name}\ndata: ${data}\n\n`)
    this.#waiting.clear()
    this.#write(text.join(''))
  }

  #write(text: string): void {
    if (!this.#response.writableEnded) this.#isBlocked = !this.#response.write(text)
  }
}
