/** A worker in front of scripted servers, ended after each test. */
import { afterEach } from 'vitest'
import { answerOk, RawClient, RawOrigin, type Respond } from './raw-origin.ts'
import {
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
  readonly #origins: RawOrigin[] = []
  readonly #clients: RawClient[] = []
  #running: RunningWorker | undefined

  constructor() {
    afterEach(async () => {
      for (const client of this.#clients.splice(0)) client.close()
      await this.#running?.stop()
      this.#running = undefined
      for (const origin of this.#origins.splice(0)) origin.stop()
    })
  }

  async origin(respond: Respond = answerOk): Promise<RawOrigin> {
    const started = await RawOrigin.start(respond)
    this.#origins.push(started)
    return started
  }

  /** Routes a.test to a service of these ports. */
  serve(
    ports: number[],
    options: ServiceOptions = {},
    entryPoint: EntryPointOptions = {},
  ): RunningWorker {
    return this.serveResources([
      encodeEntryPoint('web', entryPoint),
      encodeRouter('r', 's', { hosts: ['a.test'] }),
      encodeService('s', ports, options),
      encodeSettings(10),
    ])
  }

  serveResources(resources: readonly Uint8Array[]): RunningWorker {
    this.#running = startWorker(resources)
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
