/** What is counted of an exchange, and the one place where an exchange ends: exactly once, whatever happened. Hot. */
import { Outcome } from '@sluice/proto'
import { limits } from '../../limits.ts'
import type { Engine, Route } from '../engine.ts'
import { breakdownCode, statusClassOf } from '../observe/breakdown.ts'
import { logLine } from '../observe/log-line.ts'
import type { UpstreamServer } from '../upstreams/upstream-server.ts'
import type { Request } from './request.ts'

export class ExchangeRecord {
  isOpen = false
  route: Route | undefined
  /** The last server that was tried. */
  server: UpstreamServer | undefined
  /** What the client was sent; 0 for nothing. */
  status = 0
  bytesIn = 0
  bytesOut = 0
  attempts = 0
  startedAt = 0
  /** 0: no byte came from a server. */
  firstByteAt = 0
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** `headBytes`: of the request's head. */
  open(headBytes: number): void {
    this.isOpen = true
    this.route = undefined
    this.server = undefined
    this.status = 0
    this.bytesIn = headBytes
    this.bytesOut = 0
    this.attempts = 0
    this.startedAt = this.#engine.now()
    this.firstByteAt = 0
    this.#engine.gauges.exchangesStarted += 1
  }

  /** A router took the exchange. */
  enter(route: Route): void {
    this.route = route
    route.counter.open += 1
  }

  noteFirstByte(): void {
    if (this.firstByteAt === 0) this.firstByteAt = this.#engine.now()
  }

  /** Counts the exchange and, if it is chosen, logs it. */
  close(outcome: Outcome, request: Request, entryPoint: string, peerAddress: string): void {
    if (!this.isOpen) return
    this.isOpen = false
    const engine = this.#engine
    const durationMs = engine.now() - this.startedAt
    const counter = this.route?.counter ?? engine.unroutedCounter
    engine.gauges.exchangesEnded += 1
    if (this.route !== undefined) counter.open -= 1
    const statusClass = statusClassOf(this.status)
    const code = breakdownCode(outcome, request.method, request.minorVersion, statusClass)
    counter.add(code, this.bytesIn, this.bytesOut, Math.round(durationMs * 1_000))
    if (this.firstByteAt !== 0) {
      counter.addAnswer(Math.round((this.firstByteAt - this.startedAt) * 1_000))
    }
    if (this.attempts > 1) counter.addRetries(this.attempts - 1)
    const timeMs = Math.floor(engine.wallClock.at(this.startedAt + durationMs))
    const isNotable = this.status >= 500 || isFailure(outcome) || durationMs > limits.slowExchangeMs
    if (engine.sampler.chooses(timeMs, isNotable)) {
      const where = { entryPoint, peerAddress }
      engine.sampler.put(logLine(this, request, where, { timeMs, durationMs, outcome }))
    }
  }
}

function isFailure(outcome: Outcome): boolean {
  switch (outcome) {
    case Outcome.CLIENT_LEFT:
    case Outcome.UPSTREAM_FAILED:
    case Outcome.UPSTREAM_TIMED_OUT:
    case Outcome.SHED:
      return true
    default:
      return false
  }
}
