/**
 * The health of one server as one service sees it: probes it at once and then once per interval, and turns
 * after as many results in a row as the check asks for. A probe is over when the head of its answer is there.
 */
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import type { HealthCheck, ProxyHeaderVersion } from '../../configuration/services.ts'
import type { ServerSettings } from './upstream-server.ts'

/** They say that the connection is of the proxy itself. */
const OWN_CONNECTION: Readonly<Record<ProxyHeaderVersion, Buffer>> = {
  off: Buffer.alloc(0),
  v1: Buffer.from('PROXY UNKNOWN\r\n'),
  v2: Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex'),
}

export class ServerHealth {
  readonly check: HealthCheck
  #settings: ServerSettings
  readonly #onTurn: (reason: string) => void
  #isHealthy: boolean
  /** Results in a row that speak against the present state. */
  #against = 0
  #timer: NodeJS.Timeout | undefined
  #stop = new AbortController()

  /** `onTurn`: the state has changed, for this reason. */
  constructor(settings: ServerSettings, check: HealthCheck, onTurn: (reason: string) => void) {
    this.#settings = settings
    this.check = check
    this.#onTurn = onTurn
    this.#isHealthy = !check.isInitiallyUnhealthy
    this.#begin()
  }

  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /** For the next probe. */
  configure(settings: ServerSettings): void {
    this.#settings = settings
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#stop.abort()
  }

  #begin(): void {
    const startedAt = performance.now()
    this.#probe((failure) => {
      if (this.#stop.signal.aborted) return
      const restMs = startedAt + this.check.intervalMs - performance.now()
      this.#timer = setTimeout(() => this.#begin(), Math.max(0, restMs))
      this.#timer.unref()
      this.#take(failure)
    })
  }

  /** `onEnd` is called once, with why the probe failed or ''. */
  #probe(onEnd: (failure: string) => void): void {
    const { check } = this
    let isOver = false
    const end = (failure: string) => {
      if (isOver) return
      isOver = true
      clearTimeout(limit)
      probe.destroy()
      onEnd(failure)
    }
    // Loaded by the first check alone: it costs a worker 2.3 MiB.
    const { request } = process.getBuiltinModule('node:http')
    const probe = request({
      path: check.path,
      headers: { host: this.#settings.authority, 'user-agent': 'sluice-health-check' },
      signal: this.#stop.signal,
      createConnection: () => open(this.#settings),
    })
    const limit = setTimeout(() => end(`no answer in ${check.timeoutMs} ms`), check.timeoutMs)
    probe.on('response', ({ statusCode = 0 }) => {
      end(isExpected(statusCode, check.status) ? '' : `status ${statusCode}`)
    })
    probe.on('upgrade', () => end('status 101'))
    // Stays after the end: what a destroyed probe still meets is of no interest.
    probe.on('error', ({ message }) => end(message))
    probe.end()
  }

  #take(failure: string): void {
    const isGood = failure === ''
    if (isGood === this.#isHealthy) {
      this.#against = 0
      return
    }
    this.#against += 1
    const needed = isGood ? this.check.healthyAfter : this.check.unhealthyAfter
    if (this.#against < needed) return
    this.#against = 0
    this.#isHealthy = isGood
    this.#onTurn(failure)
  }
}

function isExpected(status: number, expected: number): boolean {
  return expected === 0 ? status >= 200 && status < 400 : status === expected
}

/** To the server's address, and where there is one, to that of the other family in its stead. */
function open({ host, alternative, port, proxyProtocol }: ServerSettings): Socket {
  const addresses = [host, alternative].map((address) => ({ address, family: isIP(address) }))
  const both: LookupFunction = (_name, _options, found) => found(null, addresses)
  const target = alternative === '' ? { host } : { host: 'server', lookup: both }
  const socket = connect({ ...target, port })
  const header = OWN_CONNECTION[proxyProtocol]
  if (header.length > 0) socket.write(header)
  return socket
}
