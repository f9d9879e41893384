/**
 * Tells the audit log of writes, sign-ins and refusals, before they are answered. A version has its row already,
 * stored with it (publishing/version-records.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { TokenBucket } from '../fleet/token-bucket.ts'
import { type AuditChange, type AuditEntry, bounded, type Origin } from '../model/audit-entry.ts'
import type { AuditLog } from '../people/audit-log.ts'
import { peopleLimits } from '../people/limits.ts'

interface Note {
  /** Where nobody is known by the request itself. */
  readonly who?: string
  readonly object?: string
  readonly changes?: readonly AuditChange[]
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What the handler knows of what it did. */
    auditNote: Note | undefined
  }
}

const prefix = '/api/v1'
const signIn = 'POST /session'
const refusedStatuses = [401, 403, 429]

export class Auditing {
  readonly #audit: AuditLog
  readonly #log: Logger
  /** Strangers must not be able to fill the log. */
  readonly #refusalsOfStrangers: TokenBucket

  constructor(options: {
    readonly audit: AuditLog
    readonly log: Logger
    readonly now: () => number
  }) {
    this.#audit = options.audit
    this.#log = options.log
    this.#refusalsOfStrangers = new TokenBucket({
      perSecond: peopleLimits.refusalsPerSecond,
      burst: peopleLimits.refusalsBurst,
      now: options.now,
    })
  }

  /** For all routes of the app. */
  install(app: FastifyInstance): void {
    app.decorateRequest('auditNote', undefined)
    app.addHook('onSend', async (request, reply, payload) => {
      await this.#look(request, reply)
      return payload
    })
  }

  async #look(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const action = actionOf(request)
    const isWrite = action === signIn || request.routeOptions.config.access?.access === 'write'
    const result = resultOf(reply.statusCode, isWrite)
    // With that header the version has its row.
    if (result === undefined || reply.hasHeader('sluice-version')) return
    const { principal, auditNote } = request
    if (principal === undefined && result === 'refused' && !this.#refusalsOfStrangers.take()) return
    const entry: AuditEntry = {
      who: principal?.name ?? auditNote?.who ?? '',
      ...originOf(request),
      action: action === signIn ? 'sign-in' : action,
      object: auditNote?.object ?? Object.values(request.params ?? {}).join(' '),
      changes: bounded(auditNote?.changes ?? []),
      result,
    }
    // What was done is done: an answer that denies it would be worse than a row that only the log has.
    await this.#audit.record(entry).catch((error: unknown) => {
      this.#log.error({ err: error, entry }, 'the audit log could not be written')
    })
  }
}

/** How the request came, for the audit log. */
export function originOf({ principal, ip }: FastifyRequest): Origin {
  return { via: principal?.via ?? 'nothing', address: ip }
}

/** As the API's description names it: `POST /nodes/:node/drain`. */
function actionOf({ method, routeOptions }: FastifyRequest): string {
  const { url = '' } = routeOptions
  return `${method} ${url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : url}`
}

/** Undefined: nothing that the log keeps. */
function resultOf(status: number, isWrite: boolean): AuditEntry['result'] | undefined {
  if (status < 400) return isWrite ? 'done' : undefined
  if (status >= 500) return isWrite ? 'failed' : undefined
  const isRefused = refusedStatuses.includes(status) && (status !== 429 || isWrite)
  return isRefused ? 'refused' : undefined
}
