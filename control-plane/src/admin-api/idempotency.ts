/**
 * Idempotency-Key on requests that create: the same request under the same key is made once, and its answer is
 * given again. What was refused changed nothing, so it is not remembered.
 */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Database } from '../store/database.ts'
import {
  findIdempotencyKey,
  forgetIdempotencyKeys,
  saveIdempotencyKey,
} from '../store/idempotency-keys.ts'
import { sealContexts } from '../store/seal-contexts.ts'
import type { Vault } from '../store/vault.ts'
import { apiLimits } from './limits.ts'
import { ApiError } from './problem-details.ts'

/** What a request with a key stores with the version that it publishes. */
export type Receipt = (transaction: Database) => Promise<void>

interface KeyedRequest {
  readonly key: string
  readonly fingerprint: Uint8Array
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while a request with an idempotency key is made. */
    keyed: KeyedRequest | undefined
  }
  interface FastifyContextConfig {
    /** The route takes Idempotency-Key. */
    isIdempotent?: boolean
  }
}

const repeatedHeaders = [
  'location',
  'etag',
  'cache-control',
  'sluice-version',
  'sluice-draft',
  'content-type',
]

export class IdempotencyKeys {
  readonly #db: Database
  readonly #vault: Vault
  readonly #now: () => number
  readonly #running = new Set<string>()

  constructor({ db, vault, now }: { db: Database; vault: Vault; now: () => number }) {
    this.#db = db
    this.#vault = vault
    this.#now = now
  }

  /** For the requests of the app's routes that say so in their config. */
  install(app: FastifyInstance): void {
    app.decorateRequest('keyed', undefined)
    app.addHook('preHandler', (request, reply) => this.#begin(request, reply))
    app.addHook('onSend', async (request, reply, payload) => {
      await this.#remember(request, reply, payload)
      return payload
    })
    app.addHook('onResponse', async ({ keyed }) => {
      if (keyed !== undefined) this.#running.delete(keyed.key)
    })
  }

  /** Ties the key of a request to the transaction of its change. */
  receipt({ keyed }: FastifyRequest): Receipt | undefined {
    if (keyed === undefined) return undefined
    const unanswered = { status: null, headers: null, body: null, created_at_ms: this.#now() }
    return (transaction) => saveIdempotencyKey(transaction, { ...keyed, ...unanswered })
  }

  async #begin(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const key = request.headers['idempotency-key']
    if (request.routeOptions.config.isIdempotent !== true || typeof key !== 'string') return
    if (key === '' || key.length > apiLimits.idempotencyKeyCharactersMax) {
      const max = apiLimits.idempotencyKeyCharactersMax
      throw new ApiError(400, `the header Idempotency-Key must have 1 to ${max} characters`)
    }
    const fingerprint = fingerprintOf(request)
    if (this.#running.has(key)) {
      throw new ApiError(409, 'a request with this Idempotency-Key is still being answered')
    }
    // Before anything is awaited, so that a second request finds it.
    this.#running.add(key)
    request.keyed = { key, fingerprint }
    const known = await findIdempotencyKey(this.#db, key)
    if (known === undefined || known.created_at_ms < this.#oldestMs()) return
    if (!Buffer.from(known.fingerprint).equals(fingerprint)) {
      throw new ApiError(422, 'the Idempotency-Key was used for another request')
    }
    if (known.status === null || known.body === null) {
      throw new ApiError(409, 'the request was made already; its answer was lost')
    }
    const headers = JSON.parse(known.headers ?? '{}') as Record<string, string>
    // What is answered again must not be remembered as another answer.
    this.#running.delete(key)
    request.keyed = undefined
    return reply
      .code(known.status)
      .headers({ ...headers, 'idempotency-replayed': 'true' })
      .serializer((text: string) => text)
      .send(this.#unsealed(key, known.body))
  }

  async #remember({ keyed }: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<void> {
    if (keyed === undefined || reply.statusCode >= 300 || typeof payload !== 'string') return
    const headers = repeatedHeaders.flatMap((name) => {
      const value = reply.getHeader(name)
      return value === undefined ? [] : [[name, String(value)]]
    })
    await saveIdempotencyKey(this.#db, {
      ...keyed,
      status: reply.statusCode,
      headers: JSON.stringify(Object.fromEntries(headers)),
      body: this.#sealed(keyed.key, payload),
      created_at_ms: this.#now(),
    })
    await forgetIdempotencyKeys(this.#db, {
      beforeMs: this.#oldestMs(),
      countMax: apiLimits.idempotencyKeysMax,
    })
  }

  #sealed(key: string, body: string): string {
    return Buffer.from(this.#vault.seal(Buffer.from(body), sealContexts.answer(key))).toString(
      'base64',
    )
  }

  #unsealed(key: string, sealed: string): string {
    const body = this.#vault.open(Buffer.from(sealed, 'base64'), sealContexts.answer(key))
    return Buffer.from(body).toString('utf8')
  }

  #oldestMs(): number {
    return this.#now() - apiLimits.idempotencyKeyAgeMs
  }
}

function fingerprintOf({ method, url, body, principal }: FastifyRequest): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([method, url, body ?? null, principal?.name ?? '']))
    .digest()
}
