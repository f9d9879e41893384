/** Errors as RFC 9457 problem details. The only place that decides what a failure looks like outside. */
import { STATUS_CODES } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { JoinTokenError } from '../fleet/join-tokens.ts'
import type { Problem } from '../model/kinds.ts'
import { Refusal, type RefusalCode } from '../model/refusal.ts'
import { entityTagOf, type PreconditionFailed } from '../publishing/preconditions.ts'
import { type DatabaseTrouble, databaseTroubleOf } from '../store/database-trouble.ts'
import { TelemetryQueryError } from '../telemetry/query-error.ts'

export interface ProblemDetails {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance?: string
  readonly problems?: readonly Problem[]
  /** What there is in place of what the request expected; null: nothing. */
  readonly current?: object | null
}

interface Definition {
  readonly slug: string
  readonly title: string
  readonly status: number
}

const refusals: Record<RefusalCode, Definition> = {
  malformed: { slug: 'malformed-request', title: 'The request is malformed', status: 400 },
  invalid: {
    slug: 'invalid-configuration',
    title: 'The configuration would be invalid',
    status: 422,
  },
  'not-found': { slug: 'not-found', title: 'Not found', status: 404 },
  'name-taken': { slug: 'name-taken', title: 'The name is taken', status: 409 },
  conflict: { slug: 'conflict', title: 'The draft conflicts with what was published', status: 409 },
  staged: { slug: 'stage-open', title: 'A version is being published in stages', status: 409 },
  forbidden: { slug: 'forbidden', title: 'The request is not allowed', status: 403 },
  'too-many': { slug: 'too-many', title: 'Too many of these at the same time', status: 429 },
  referenced: { slug: 'still-referenced', title: 'The resource is still used', status: 409 },
}

const statuses: Record<number, Definition> = {
  400: refusals.malformed,
  401: { slug: 'unauthorized', title: 'The credentials are missing or wrong', status: 401 },
  403: refusals.forbidden,
  404: refusals['not-found'],
  409: { slug: 'idempotency-conflict', title: 'The Idempotency-Key is in use', status: 409 },
  422: { slug: 'idempotency-mismatch', title: 'The Idempotency-Key was used', status: 422 },
  413: { slug: 'too-large', title: 'The request is too large', status: 413 },
  414: { slug: 'too-large', title: 'The request is too large', status: 414 },
  429: refusals['too-many'],
  415: { slug: 'unsupported-media-type', title: 'The media type is not supported', status: 415 },
}

const preconditionFailed: Definition = {
  slug: 'precondition-failed',
  title: 'The resource is not as expected',
  status: 412,
}

const troubles: Record<DatabaseTrouble, Definition & { readonly detail: string }> = {
  'disk-full': {
    slug: 'disk-full',
    title: 'The disk of the control plane is full',
    status: 507,
    detail:
      'nothing was written; reading goes on, and so does writing as soon as the data directory has space again',
  },
  busy: {
    slug: 'database-busy',
    title: 'The database is busy',
    status: 503,
    detail: 'another program holds the database of the control plane; nothing was written',
  },
}

const internal: Definition = { slug: 'internal', title: 'Internal error', status: 500 }

export const problemMediaType = 'application/problem+json'

/** Sent by an `onRequest` hook or handler in place of an answer. */
export class ApiError extends Error {
  readonly statusCode: number
  readonly problems: readonly Problem[] | undefined

  constructor(
    statusCode: 400 | 401 | 403 | 404 | 409 | 422 | 429,
    detail: string,
    problems?: readonly Problem[],
  ) {
    super(detail)
    this.statusCode = statusCode
    this.problems = problems
  }
}

export function toProblemDetails(error: unknown): ProblemDetails {
  if (error instanceof Refusal) {
    return compose(refusals[error.code], error.message, error.problems)
  }
  if (error instanceof TelemetryQueryError || error instanceof JoinTokenError) {
    const { field, reason } = error
    return compose(refusals.malformed, error.message, [{ kind: '', name: '', field, reason }])
  }
  if (error instanceof ApiError)
    return compose(definitionOf(error.statusCode), error.message, error.problems)
  const trouble = databaseTroubleOf(error)
  if (trouble !== undefined) return compose(troubles[trouble], troubles[trouble].detail)
  const { statusCode = 500, message = '' } = error as Partial<FastifyError>
  // Fastify's own refusals (body too large, not JSON ...) have messages that are meant for clients.
  if (statusCode >= 400 && statusCode < 500) return compose(definitionOf(statusCode), message)
  return compose(internal, 'the control plane failed; its log has the reason')
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown) {
  const details = toProblemDetails(error)
  if (details.status >= 500) request.log.error({ err: error }, 'request failed')
  // Fastify would close the connection, and with it the answer for a client that is still sending. Without
  // that the rest is read and dropped, as long as a request may last.
  if (details.status === 413) reply.removeHeader('connection')
  return reply
    .code(details.status)
    .header('content-type', problemMediaType)
    .send({ ...details, instance: request.url.split('?')[0] })
}

/** 412 with what is there now, so that a writer can look before it tries again (RFC 9110 section 15.5.13). */
export function sendPreconditionFailed(
  request: FastifyRequest,
  reply: FastifyReply,
  { message, id, current }: PreconditionFailed,
  shown: object | null,
) {
  const details = compose(preconditionFailed, message)
  const isThere = current !== undefined || id.kind === 'settings'
  if (isThere) reply.header('etag', entityTagOf(current))
  return reply
    .code(details.status)
    .header('content-type', problemMediaType)
    .send({
      ...details,
      instance: request.url.split('?')[0],
      current: shown,
    })
}

function definitionOf(status: number): Definition {
  const title = STATUS_CODES[status] ?? 'The request is refused'
  return statuses[status] ?? { slug: 'refused', title, status }
}

function compose(
  { slug, title, status }: Definition,
  detail: string,
  problems: readonly Problem[] = [],
): ProblemDetails {
  const base = { type: `urn:sluice:problem:${slug}`, title, status, detail }
  return problems.length === 0 ? base : { ...base, problems }
}
