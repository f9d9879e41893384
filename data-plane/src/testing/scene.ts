/** A worker in front of scripted servers, ended after each test. */
import { afterEach } from 'vitest'
import { type NameLookup, SystemLookup } from '../worker/names/name-lookup.ts'
import { BlackHole } from './black-hole.ts'
import { DnsServer } from './dns-server.ts'
import { answerOk, RawClient, RawOrigin, type Respond } from './raw-origin.ts'
import {
  type Address,
  type EntryPointOptions,
  encodeEntryPoint,
  encodeRouter,
  encodeService,
  encodeSettings,
  type ServiceOptions,
} from './resources.ts'
import { type RunningWorker, startWorker } from './worker.ts'

export const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'

export const statusOf = (answer: string): number => Number(answer.slice(9, 12))

export class Scene {
  readonly #others: { stop(): void }[] = []
  readonly #clients: RawClient[] = []
  #running: RunningWorker | undefined

  constructor() {
    afterEach(async () => {
      for (const client of this.#clients.splice(0)) client.close()
      await this.#running?.stop()
      this.#running = undefined
      for (const other of this.#others.splice(0)) other.stop()
    })
  }

  /** `port` 0: a free one. */
  async origin(respond: Respond = answerOk, host = '127.0.0.1', port = 0): Promise<RawOrigin> {
    const started = await RawOrigin.start(respond, host, port)
    this.#others.push(started)
    return started
  }

  async dns(): Promise<DnsServer> {
    const started = await DnsServer.start()
    this.#others.push(started)
    return started
  }

  async blackHole(host: string, port = 0): Promise<BlackHole> {
    const opened = await BlackHole.open(host, port)
    this.#others.push(opened)
    return opened
  }

  /** Routes a.test to a service of these servers. */
  serve(
    servers: Address[],
    options: ServiceOptions = {},
    { lookup, ...entryPoint }: EntryPointOptions & { lookup?: NameLookup } = {},
  ): RunningWorker {
    const resources = [
      encodeEntryPoint('web', entryPoint),
      encodeRouter('r', 's', { hosts: ['a.test'] }),
      encodeService('s', servers, options),
      encodeSettings(10),
    ]
    return this.serveResources(resources, lookup)
  }

  serveResources(
    resources: readonly Uint8Array[],
    lookup: NameLookup = new SystemLookup(),
  ): RunningWorker {
    this.#running = startWorker(resources, lookup)
    return this.#running
  }

  async client(port: number): Promise<RawClient> {
    const opened = await RawClient.open(port)
    this.#clients.push(opened)
    return opened
  }

  async ask(port: number, text: string): Promise<string> {
    return (await this.client(port)).exchange(text)
  }
}
