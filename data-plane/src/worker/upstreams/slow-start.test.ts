import { expect, it } from 'vitest'
import { DeadlineSweep } from '../deadline-sweep.ts'
import { HeadParser } from '../http1/head-parser.ts'
import { OutputBuffer } from '../http1/output-buffer.ts'
import { Gauges } from '../observe/gauges.ts'
import { NetDialler } from '../transport/net-dialler.ts'
import { UpstreamServer } from './upstream-server.ts'
import { UpstreamService } from './upstream-service.ts'

const WINDOW_MS = 10_000

/** A service at a clock that the test moves. */
class Stage {
  #now = 0
  readonly #deadlines = new DeadlineSweep(() => this.#now)
  readonly #gauges = new Gauges()
  readonly service = new UpstreamService(this.#deadlines, this.#gauges)

  constructor() {
    this.service.slowStartMs = WINDOW_MS
  }

  pass(ms: number): void {
    this.#now += ms
    this.#deadlines.sweep()
  }

  server(port: number): UpstreamServer {
    const context = {
      output: new OutputBuffer(),
      answerHead: new HeadParser(),
      deadlines: this.#deadlines,
      gauges: this.#gauges,
      dialler: new NetDialler(),
    }
    return new UpstreamServer(context, this.service.queue, {
      host: '127.0.0.1',
      alternative: '',
      name: undefined,
      port,
      authority: `127.0.0.1:${port}`,
      connectMs: 1_000,
      firstByteMs: 1_000,
      idleMs: 1_000,
      idleConnectionsMax: 1,
      connectionsMax: 0,
      connectionAgeMaxMs: 0,
      proxyProtocol: 'off',
    })
  }

  /** How many of the next picks are of the server. */
  picksOf(server: UpstreamServer, count: number): number {
    return Array.from({ length: count }, () => this.service.pick()).filter((one) => one === server)
      .length
  }
}

it.each([
  ['even weights', 1, 1],
  ['weights of 3 and 1', 3, 1],
])('the share of an added server rises in step with time, with %s', (_name, old, added) => {
  const stage = new Stage()
  const first = { server: stage.server(1), weight: old }
  stage.service.setServers([first])
  stage.pass(2 * WINDOW_MS)
  const second = { server: stage.server(2), weight: added }
  stage.service.setServers([first, second])
  let at = 0
  // A tenth of its weight is what a server has at least.
  for (const [part, least] of [
    [0, 0.1],
    [0.25, 0],
    [0.5, 0],
    [0.75, 0],
    [1, 0],
    [2, 0],
  ] as const) {
    stage.pass((part - at) * WINDOW_MS)
    at = part
    const risen = added * Math.max(least, Math.min(1, part))
    const expected = (1_000 * risen) / (old + risen)
    expect(Math.abs(stage.picksOf(second.server, 1_000) - expected)).toBeLessThan(5)
  }
})

it('the rise begins anew when a server comes back', () => {
  const stage = new Stage()
  const [first, second] = [stage.server(1), stage.server(2)]
  const both = [first, second].map((server) => ({ server, weight: 1 }))
  stage.service.setServers(both)
  stage.pass(WINDOW_MS)
  expect(stage.picksOf(second, 100)).toBe(50)
  stage.service.setServers([
    { server: first, weight: 1 },
    { server: second, weight: 0 },
  ])
  expect(stage.picksOf(second, 100)).toBe(0)
  stage.pass(WINDOW_MS)
  stage.service.setServers(both)
  const atFirst = stage.picksOf(second, 110)
  expect(Math.abs(atFirst - 10)).toBeLessThan(3)
})
