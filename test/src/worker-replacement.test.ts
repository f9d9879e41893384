/**
 * Workers replaced one by one while clients of all kinds ask. A kept connection may end between two requests:
 * a client whose request got no byte of an answer there sends it again on a new one (RFC 9112 section 9.3.1).
 * On a new connection, and within an answer, nothing may fail.
 */
import { expect } from 'vitest'
import { CaseScene } from './harness/case-scene.ts'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { freePort } from './harness/ports.ts'
import { get, RawClient } from './harness/raw-client.ts'
import { Scope } from './harness/scope.ts'
import { TestCa } from './harness/test-ca.ts'

const { it } = claims()
const CLIENTS_OF_EACH_KIND = 3
const ROLLS = 2
const WITHIN = { withinMs: 30_000 }
const TLS = { tls: { servername: 'a.test', rejectUnauthorized: false } }

class Asker {
  answered = 0
  readonly failures: string[] = []
  readonly #port: number
  readonly #isSecure: boolean
  readonly #isKeeping: boolean
  #kept: RawClient | undefined

  constructor(port: number, isSecure: boolean, isKeeping: boolean) {
    this.#port = port
    this.#isSecure = isSecure
    this.#isKeeping = isKeeping
  }

  async askWhile(mayGoOn: () => boolean): Promise<void> {
    for (let turn = 0; mayGoOn(); turn += 1) {
      const scope = new Scope()
      try {
        await this.#ask(scope, `/${turn}`)
        this.answered += 1
      } catch (error) {
        this.failures.push(`${this.#isSecure} ${this.#isKeeping} ${error}`)
        this.#kept = undefined
      }
      if (this.#kept === undefined) await scope.close()
    }
    this.#kept?.close()
  }

  async #ask(scope: Scope, path: string): Promise<void> {
    const kept = this.#kept
    if (kept !== undefined && (await this.#askOn(kept, path, true))) return
    const client = await RawClient.open(scope, this.#port, this.#isSecure ? TLS : {})
    await this.#askOn(client, path, false)
  }

  /** False: the kept connection ended before any byte of the answer. */
  async #askOn(client: RawClient, path: string, mayHaveEnded: boolean): Promise<boolean> {
    const before = client.received.length
    client.send(get('a.test', path))
    try {
      const { body } = await client.answer()
      expect(body.toString()).toBe(path)
    } catch (error) {
      const isUntouched = client.isEnded && client.received.length === before
      if (!mayHaveEnded || !isUntouched) throw error
      client.close()
      this.#kept = undefined
      return false
    }
    this.#kept = this.#isKeeping && !client.isEnded ? client : undefined
    if (this.#kept === undefined) client.close()
    return true
  }
}

it(
  'workers are replaced under load, over HTTP and HTTPS, without a failed request',
  async (scope) => {
    const issued = await (await TestCa.create()).issue({ hosts: ['a.test'] })
    const securePort = await freePort()
    const address = `127.0.0.1:${securePort}`
    const scene = await CaseScene.start(scope, {
      workers: 2,
      documents: () => [
        { kind: 'entry-point', name: 'web-tls', address, protocol: 'https' },
        { kind: 'certificate', name: 'a', source: 'uploaded', ...issued },
      ],
    })
    const askers = [false, true].flatMap((isSecure) =>
      [false, true].flatMap((isKeeping) =>
        Array.from({ length: CLIENTS_OF_EACH_KIND }, () => {
          return new Asker(isSecure ? securePort : scene.port, isSecure, isKeeping)
        }),
      ),
    )
    let isAsking = true
    const asking = Promise.all(askers.map((asker) => asker.askWhile(() => isAsking)))
    const everyoneAsked = (more: number) => {
      const before = askers.map(({ answered }) => answered)
      return eventually(
        () => askers.every(({ answered }, at) => answered >= (before[at] ?? 0) + more),
        WITHIN,
      )
    }
    for (let roll = 0; roll < ROLLS; roll += 1) {
      await everyoneAsked(5)
      const old = await scene.node.workerPids()
      scene.node.process.signal('SIGUSR2')
      await eventually(async () => {
        const now = await scene.node.workerPids()
        return now.length === 2 && now.every((pid) => !old.includes(pid))
      }, WITHIN)
    }
    await everyoneAsked(5)
    isAsking = false
    await asking
    expect(askers.flatMap(({ failures }) => failures)).toEqual([])
  },
  { withinMs: 120_000 },
)
