/**
 * Runs one plan: releases requests when they are due, gives them to connections, and tells the recorder how
 * each one ended. Every answer turns it as well as the pacer does, so that what is due waits for no tick.
 * Hot: turn, onEnd and what they call.
 */
import assert from 'node:assert/strict'
import type { LoadPlan, LoadResult } from '../load-plan.ts'
import { Backlog, NONE } from './backlog.ts'
import { Connection, type ConnectionOwner, type Ending } from './connection.ts'
import { endpointsOf } from './endpoint.ts'
import { FreeQueue } from './free-queue.ts'
import { type Pacer, startPacer } from './pacer.ts'
import { type Clocks, Recorder } from './recorder.ts'
import { RequestList } from './request-list.ts'
import { DueTimes } from './schedule.ts'

const WINDOW_US = 1e6
const LAST_SEND_MS = 100
/** Handshakes under way at the same time before the start: more would only queue. */
const OPENING_MAX = 64
const CHECKED_EVERY = 100
const SWEEPS_PER_TIMEOUT = 20

export interface GeneratorOptions {
  /** What was due at the end of the schedule may still be sent this long; 100 ms where it is not given. */
  readonly lastSendMs?: number
  /** The warm-up is over. */
  onMeasuring?(): void
  /** About once a second of the measured time. */
  onSecond?(seconds: number): void
}

export class Generator implements ConnectionOwner {
  readonly #plan: LoadPlan
  readonly #options: GeneratorOptions
  readonly #dueTimes: DueTimes
  readonly #requests: RequestList
  readonly #recorder: Recorder
  readonly #backlog: Backlog
  /** Who takes the next request of the shared backlog or of a closed loop. */
  readonly #free: FreeQueue
  /** Of each lane the connection to each target; a lane has one request in flight. */
  readonly #lanes: readonly (readonly Connection[])[]
  /** By lane. */
  readonly #dueUs: Float64Array
  readonly #releasedUs: Float64Array
  readonly #isMeasured: Uint8Array
  readonly #isFree: Uint8Array
  readonly #clocks: Clocks = { service: 0, release: 0, schedule: 0 }
  readonly #isClosedLoop: boolean
  readonly #isStatic: boolean
  readonly #timeoutUs: number
  readonly #done = Promise.withResolvers<void>()
  #pacer: Pacer | undefined
  #startMs = 0
  #sent = 0
  #inFlight = 0
  #measuredInFlight = 0
  #measuredBegun = 0
  #isMeasuring = false
  #isInterrupted = false
  #nextWindowUs: number
  #nextSweepUs = 0
  #lastSendUs = Number.POSITIVE_INFINITY
  #connectionsOpened = 0
  #answeredInAll = 0
  #handshakes = { full: 0, resumed: 0 }
  #exhausted = { ports: 0, files: 0 }
  #begin = { wallMs: 0, cpu: process.cpuUsage() }

  constructor(plan: LoadPlan, options: GeneratorOptions = {}) {
    const { connections, schedule, assign, timeoutMs } = plan
    this.#plan = plan
    this.#options = options
    this.#isClosedLoop = schedule.kind === 'closed'
    this.#isStatic = assign === 'static' && !this.#isClosedLoop
    this.#dueTimes = new DueTimes(schedule, plan.warmUpSeconds)
    this.#requests = new RequestList(plan)
    this.#recorder = new Recorder(plan)
    this.#backlog = new Backlog(this.#dueTimes.count, connections, assign === 'shared')
    this.#free = new FreeQueue(connections)
    const endpoints = endpointsOf(plan)
    this.#lanes = Array.from({ length: connections }, (_, lane) =>
      endpoints.map((sources) => new Connection(lane, ofTurn(sources, lane), this)),
    )
    this.#dueUs = new Float64Array(connections)
    this.#releasedUs = new Float64Array(connections)
    this.#isMeasured = new Uint8Array(connections)
    this.#isFree = new Uint8Array(connections).fill(1)
    this.#timeoutUs = timeoutMs * 1000
    this.#nextWindowUs = this.#dueTimes.warmUpUs + WINDOW_US
  }

  /** `signal` ends the run early; the result then covers what was measured. */
  async run(signal?: AbortSignal): Promise<LoadResult> {
    this.#startMs = performance.now()
    if (!this.#plan.isConnectionPerRequest) await this.#openAll(signal)
    this.#startMs = performance.now()
    this.#nextSweepUs = 0
    if (!this.#isStatic) {
      for (let lane = 0; lane < this.#lanes.length; lane += 1) this.#free.push(lane)
    }
    const interrupt = (): void => {
      this.#isInterrupted = true
      this.#done.resolve()
    }
    signal?.addEventListener('abort', interrupt, { once: true })
    if (signal?.aborted) interrupt()
    else this.#pacer = startPacer(this.#plan.pace, this.#turn)
    await this.#done.promise.finally(() => this.#pacer?.stop())
    signal?.removeEventListener('abort', interrupt)
    return this.#finish()
  }

  nowUs(): number {
    return (performance.now() - this.#startMs) * 1000
  }

  onOpened(): void {
    this.#connectionsOpened += 1
  }

  onHandshake(isResumed: boolean): void {
    if (isResumed) this.#handshakes.resumed += 1
    else this.#handshakes.full += 1
  }

  onExhausted(what: 'ports' | 'files'): void {
    this.#exhausted[what] += 1
  }

  onEnd(lane: number, ending: Ending, connection: Connection): void {
    const nowUs = this.nowUs()
    this.#inFlight -= 1
    if (ending === 'answered') this.#answeredInAll += 1
    if (this.#isMeasured[lane] === 1) {
      this.#measuredInFlight -= 1
      this.#record(lane, ending, connection, nowUs)
    }
    if (!this.#plan.isConnectionPerRequest && ending !== 'connect') connection.open()
    this.#isFree[lane] = 1
    if (!this.#isStatic) this.#free.push(lane)
    // A server that refuses at once would be asked again without end: the pacer's next turn does that.
    if (ending === 'connect') return
    if (this.#isStatic && !this.#isInterrupted) this.#startOn(lane, nowUs)
    this.#work(nowUs)
  }

  readonly #turn = (): void => {
    const nowUs = this.nowUs()
    if (!this.#isMeasuring && nowUs >= this.#dueTimes.warmUpUs) this.#beginMeasuring(nowUs)
    // Counted from the first turn after the end, however late it comes.
    if (nowUs >= this.#dueTimes.endUs && this.#lastSendUs === Number.POSITIVE_INFINITY) {
      this.#lastSendUs = nowUs + (this.#options.lastSendMs ?? LAST_SEND_MS) * 1000
    }
    this.#work(nowUs)
    if (this.#isStatic) this.#catchUp(nowUs)
    if (nowUs >= this.#nextWindowUs) this.#closeWindow(nowUs)
    if (nowUs >= this.#nextSweepUs) this.#sweep(nowUs)
    if (this.#inFlight === 0 && this.#isOver(nowUs)) this.#done.resolve()
  }

  #work(nowUs: number): void {
    if (this.#isInterrupted) return
    if (this.#isClosedLoop) {
      this.#goOn(nowUs)
      return
    }
    const first = this.#backlog.released
    this.#release(nowUs)
    if (!this.#isStatic) this.#dispatch(nowUs)
    else {
      for (let request = first; request < this.#backlog.released; request += 1) {
        this.#startOn(request % this.#lanes.length, nowUs)
      }
    }
  }

  #release(nowUs: number): void {
    const { count, warmUpCount } = this.#dueTimes
    while (this.#backlog.released < count) {
      const request = this.#backlog.released
      const lagUs = nowUs - this.#dueTimes.dueUs(request)
      if (lagUs < 0) return
      this.#backlog.release(lagUs)
      if (request >= warmUpCount) this.#recorder.released(lagUs)
    }
  }

  /** Shared: free connections take the oldest requests. */
  #dispatch(nowUs: number): void {
    if (nowUs > this.#lastSendUs) return
    while (this.#free.length > 0) {
      const request = this.#nextOf(0, nowUs)
      if (request === NONE) return
      this.#start(this.#free.shift(), request)
    }
  }

  /** Static: the connections that have waited for a request of their own, or whose last attempt failed. */
  #catchUp(nowUs: number): void {
    if (this.#isInterrupted) return
    for (let lane = 0; lane < this.#lanes.length; lane += 1) this.#startOn(lane, nowUs)
  }

  #startOn(lane: number, nowUs: number): void {
    if (this.#isFree[lane] === 0 || nowUs > this.#lastSendUs) return
    const request = this.#nextOf(lane, nowUs)
    if (request === NONE) return
    this.#start(lane, request)
  }

  #start(lane: number, request: number): void {
    const dueUs = this.#dueTimes.dueUs(request)
    const releasedUs = dueUs + this.#backlog.lagUs(request)
    this.#send(lane, dueUs, releasedUs, request >= this.#dueTimes.warmUpCount)
  }

  /** Takes from the backlog, and sheds what is past its deadline. */
  #nextOf(lane: number, nowUs: number): number {
    for (;;) {
      const request = this.#backlog.peek(lane)
      if (request === NONE) return NONE
      this.#backlog.take(lane)
      if (!this.#isPastDeadline(request, nowUs)) return request
      if (request >= this.#dueTimes.warmUpCount) this.#recorder.shed()
    }
  }

  #isPastDeadline(request: number, nowUs: number): boolean {
    const deadlineUs = this.#plan.deadlineMs * 1000
    return deadlineUs > 0 && nowUs - this.#dueTimes.dueUs(request) > deadlineUs
  }

  /** Closed loop: every free connection has its next request now. */
  #goOn(nowUs: number): void {
    if (nowUs >= this.#dueTimes.endUs) return
    for (let turns = this.#free.length; turns > 0; turns -= 1) {
      this.#send(this.#free.shift(), nowUs, nowUs, this.#isMeasuring)
    }
  }

  #send(lane: number, dueUs: number, releasedUs: number, isMeasured: boolean): void {
    const request = this.#requests.next()
    const connection = this.#lanes[lane]?.[request.target]
    if (connection === undefined) throw new Error(`no target ${request.target}`)
    this.#dueUs[lane] = dueUs
    this.#releasedUs[lane] = releasedUs
    this.#isMeasured[lane] = isMeasured ? 1 : 0
    this.#isFree[lane] = 0
    this.#sent += 1
    this.#inFlight += 1
    if (isMeasured) {
      this.#measuredBegun += 1
      this.#measuredInFlight += 1
      this.#recorder.started(this.nowUs())
    }
    connection.send(request.bytes, this.#sent % CHECKED_EVERY === 0)
  }

  #record(lane: number, ending: Ending, connection: Connection, nowUs: number): void {
    const clocks = this.#clocks
    clocks.service = nowUs - connection.sentUs
    clocks.release = nowUs - (this.#releasedUs[lane] ?? 0)
    clocks.schedule = nowUs - (this.#dueUs[lane] ?? 0)
    if (ending !== 'answered') {
      this.#recorder.failed(ending, clocks)
      return
    }
    const { status, bodyBytes, isAsExpected } = connection.answer
    const expectedBytes = this.#plan.expected.bodyBytes ?? bodyBytes
    this.#recorder.answered(status, isAsExpected && bodyBytes === expectedBytes, bodyBytes, clocks)
  }

  #beginMeasuring(nowUs: number): void {
    this.#isMeasuring = true
    const sinceMs = (nowUs - this.#dueTimes.warmUpUs) / 1000
    this.#begin = { wallMs: Date.now() - sinceMs, cpu: process.cpuUsage() }
    this.#options.onMeasuring?.()
  }

  #closeWindow(nowUs: number): void {
    if (this.#nextWindowUs > this.#dueTimes.endUs) return
    const seconds = (nowUs - this.#dueTimes.warmUpUs) / 1e6
    this.#recorder.windows.close(seconds)
    this.#nextWindowUs += WINDOW_US
    this.#options.onSecond?.(seconds)
  }

  #sweep(nowUs: number): void {
    this.#nextSweepUs = nowUs + Math.max(2_000, this.#timeoutUs / SWEEPS_PER_TIMEOUT)
    for (const connections of this.#lanes) {
      for (const connection of connections) connection.expire(nowUs - this.#timeoutUs)
    }
  }

  #isOver(nowUs: number): boolean {
    const { endUs, count } = this.#dueTimes
    if (nowUs < endUs) return false
    const isAllSent = this.#backlog.released === count && this.#sent === count
    return this.#isClosedLoop || isAllSent || nowUs > this.#lastSendUs
  }

  async #openAll(signal: AbortSignal | undefined): Promise<void> {
    const waiting = this.#lanes.flat()
    const sweep = setInterval(
      () => this.#sweep(this.nowUs()),
      this.#plan.timeoutMs / SWEEPS_PER_TIMEOUT,
    )
    const lanes = Array.from({ length: OPENING_MAX }, async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (!signal?.aborted) await next.opened()
      }
    })
    await Promise.all(lanes).finally(() => clearInterval(sweep))
  }

  #finish(): LoadResult {
    const nowUs = this.nowUs()
    const { count, warmUpCount, warmUpUs, endUs } = this.#dueTimes
    const seconds = Math.max(0, Math.min(nowUs, endUs) - warmUpUs) / 1e6
    const isAllDue = !this.#isClosedLoop && !this.#isInterrupted
    if (isAllDue) this.#release(nowUs)
    const due = this.#isClosedLoop ? this.#measuredBegun : this.#backlog.released - warmUpCount
    const scheduled = isAllDue ? count - warmUpCount : Math.max(0, due - this.#measuredInFlight)
    this.#backlog.drain((request) => {
      if (request < warmUpCount) return
      if (this.#isPastDeadline(request, nowUs)) this.#recorder.shed()
      else this.#recorder.unsent += 1
    })
    for (const connections of this.#lanes) for (const connection of connections) connection.close()
    if (!this.#recorder.windows.isEmpty) this.#recorder.windows.close((nowUs - warmUpUs) / 1e6)
    const cpu = process.cpuUsage(this.#begin.cpu)
    const result = this.#recorder.result(this.#dueTimes, {
      scheduled,
      startedAtMs: this.#begin.wallMs,
      seconds,
      isInterrupted: this.#isInterrupted,
      answeredInAll: this.#answeredInAll,
      connectionsOpened: this.#connectionsOpened,
      handshakes: this.#handshakes,
      exhausted: this.#exhausted,
      processorNs: (cpu.user + cpu.system) * 1000,
    })
    assert.equal(endedIn(result), result.scheduled, 'every scheduled request ended in one way')
    return result
  }
}

/** What became of the scheduled requests, in all. */
function endedIn({ ok, otherStatuses, errors, shed, unsent }: LoadResult): number {
  const counts = [...Object.values(otherStatuses), ...Object.values(errors)]
  return counts.reduce((sum, count) => sum + count, ok + shed + unsent)
}

function ofTurn<T>(values: readonly T[], turn: number): T {
  const value = values[turn % values.length]
  if (value === undefined) throw new Error('a target has at least one source')
  return value
}
