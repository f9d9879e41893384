/**
 * The process that sends requests at one rate, evenly spaced and open loop: a schedule of due times that no
 * answer moves. Latency counts from the due time, so what a slow proxy delays is charged to it. Between due
 * times the loop turns without sleeping, since epoll sleeps whole milliseconds; whoever starts it gives it
 * a low priority, so that the origin on the same CPU goes first. Reads a SteadyPlan, prints a SteadyReport.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Percentiles, SteadyPlan, SteadyReport } from './steady-plan.ts'

const READ_BYTES = 16_384
/** After the last due time; what is unanswered then is reported so. */
const LAST_ANSWER_MS = 2_000
const HEAD_END = Buffer.from('\r\n\r\n')
const OK = Buffer.from('HTTP/1.1 200')

class SteadyGenerator {
  readonly #plan: SteadyPlan
  readonly #request: Buffer
  readonly #scheduled: number
  readonly #intervalMs: number
  readonly #latencyMs: Float64Array
  readonly #latenessMs: Float64Array
  /** First in, first out, so that all connections are used. */
  readonly #free: Connection[] = []
  readonly #done = Promise.withResolvers<void>()
  #startMs = 0
  #released = 0
  #sent = 0
  #answered = 0
  #waited = 0

  constructor(plan: SteadyPlan) {
    const { host, path } = plan
    this.#plan = plan
    this.#request = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    this.#scheduled = Math.round(plan.perSecond * (plan.warmUpSeconds + plan.seconds))
    this.#intervalMs = 1000 / plan.perSecond
    this.#latencyMs = new Float64Array(this.#scheduled).fill(Number.NaN)
    this.#latenessMs = new Float64Array(this.#scheduled).fill(Number.NaN)
  }

  async run(): Promise<SteadyReport> {
    const { connections, port, bodyBytes } = this.#plan
    for (let opened = 0; opened < connections; opened += 1) {
      const connection = new Connection(port, bodyBytes, this)
      await connection.opened()
      this.#free.push(connection)
    }
    this.#startMs = performance.now()
    setImmediate(this.#turn)
    await this.#done.promise
    return this.#report()
  }

  onAnswer(connection: Connection, request: number): void {
    this.#latencyMs[request] = performance.now() - this.#dueMs(request)
    this.#answered += 1
    this.#free.push(connection)
    if (this.#answered === this.#scheduled) this.#done.resolve()
  }

  onFailure(reason: string): void {
    this.#done.reject(new Error(reason))
  }

  readonly #turn = (): void => {
    const nowMs = performance.now()
    while (this.#released < this.#scheduled && this.#dueMs(this.#released) <= nowMs) {
      this.#latenessMs[this.#released] = nowMs - this.#dueMs(this.#released)
      this.#released += 1
      if (this.#released - this.#sent > this.#free.length) this.#waited += 1
    }
    while (this.#sent < this.#released) {
      const connection = this.#free.shift()
      if (connection === undefined) break
      connection.send(this.#request, this.#sent)
      this.#sent += 1
    }
    if (nowMs > this.#dueMs(this.#scheduled) + LAST_ANSWER_MS) this.#done.resolve()
    else setImmediate(this.#turn)
  }

  #dueMs(request: number): number {
    return this.#startMs + request * this.#intervalMs
  }

  #report(): SteadyReport {
    const first = Math.round(this.#plan.perSecond * this.#plan.warmUpSeconds)
    const endMs = performance.now()
    const sinceDue = (value: number, index: number) =>
      Number.isNaN(value) ? endMs - this.#dueMs(index) : value
    return {
      answered: this.#answered,
      unanswered: this.#scheduled - this.#answered,
      waited: this.#waited,
      latencyUs: percentilesOf(this.#latencyMs.map(sinceDue).subarray(first)),
      latenessUs: percentilesOf(this.#latenessMs.map(sinceDue).subarray(first)),
    }
  }
}

/** One keep-alive connection with at most one request under way. */
class Connection {
  readonly #socket: Socket
  readonly #bodyBytes: number
  readonly #generator: SteadyGenerator
  readonly #head: Buffer = Buffer.allocUnsafe(READ_BYTES)
  /** Bytes of the present answer that came, and how many it has; 0 while the head is incomplete. */
  #received = 0
  #expected = 0
  #request = -1

  constructor(port: number, bodyBytes: number, generator: SteadyGenerator) {
    this.#bodyBytes = bodyBytes
    this.#generator = generator
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    const onread = { buffer, callback: (bytes: number) => this.#read(buffer, bytes) }
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
    this.#socket.on('error', (error) => generator.onFailure(error.message))
    this.#socket.on('close', () => generator.onFailure('the proxy closed a connection'))
  }

  async opened(): Promise<void> {
    await once(this.#socket, 'connect')
  }

  send(bytes: Buffer, request: number): void {
    this.#request = request
    this.#received = 0
    this.#expected = 0
    this.#socket.write(bytes)
  }

  #read(buffer: Buffer, bytes: number): boolean {
    if (this.#request === -1) {
      this.#generator.onFailure('bytes came without a request')
      return true
    }
    if (this.#expected === 0) this.#readHead(buffer, bytes)
    this.#received += bytes
    if (this.#expected !== 0 && this.#received >= this.#expected) this.#finish()
    return true
  }

  #readHead(buffer: Buffer, bytes: number): void {
    const isWhole = this.#received === 0
    if (!isWhole) buffer.copy(this.#head, this.#received, 0, bytes)
    const head = isWhole ? buffer : this.#head
    const have = this.#received + bytes
    const end = head.subarray(0, have).indexOf(HEAD_END)
    if (end !== -1) {
      if (head.compare(OK, 0, OK.length, 0, OK.length) !== 0) {
        this.#generator.onFailure(`answered ${head.toString('latin1', 0, end)}`)
      }
      this.#expected = end + HEAD_END.length + this.#bodyBytes
    } else if (isWhole) {
      buffer.copy(this.#head, 0, 0, bytes)
    }
  }

  #finish(): void {
    if (this.#received > this.#expected) {
      this.#generator.onFailure(`${this.#received} bytes came where ${this.#expected} were due`)
      return
    }
    const request = this.#request
    this.#request = -1
    this.#generator.onAnswer(this, request)
  }
}

/** Exact: every value is kept, and there are some ten thousand. */
function percentilesOf(valuesMs: Float64Array): Percentiles {
  const sorted = valuesMs.sort()
  const at = (share: number) => {
    const index = Math.max(0, Math.ceil(sorted.length * share) - 1)
    return Math.round((sorted[index] ?? Number.NaN) * 1e4) / 10
  }
  return { p50: at(0.5), p99: at(0.99), most: at(1) }
}

try {
  const plan = JSON.parse(process.argv[2] ?? '') as SteadyPlan
  const report = await new SteadyGenerator(plan).run()
  process.stdout.write(JSON.stringify(report), () => process.exit(0))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exit(1)
}
