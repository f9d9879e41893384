/** Resources and versions as answers show them. Nothing secret gets past here: keys are not in a record's spec. */
import type { FastifyReply } from 'fastify'
import { DEFAULT_SETTINGS, type ResourceId } from '../model/configuration.ts'
import type { Kind } from '../model/kinds.ts'
import { describe } from '../model/kinds.ts'
import type { Resource } from '../model/resources.ts'
import { certificateWarnings } from '../model/warnings.ts'
import { entityTagOf } from '../publishing/preconditions.ts'
import type { PublishedState, ResourceRecord } from '../publishing/published-state.ts'
import { ApiError } from './problem-details.ts'

export function present(record: ResourceRecord, nowMs: number): object {
  const { resource, createdAtMs, updatedAtMs, revision } = record
  const meta = {
    createdAt: new Date(createdAtMs).toISOString(),
    updatedAt: new Date(updatedAtMs).toISOString(),
    revision,
  }
  if (resource.kind !== 'certificate') return { ...resource.spec, ...meta }
  return {
    ...presentSpec(resource),
    warnings: certificateWarnings(resource.spec, nowMs),
    ...meta,
  }
}

/** The resource with its entity tag in the answer's head. */
export function answerOne(
  reply: FastifyReply,
  state: PublishedState,
  id: ResourceId,
  nowMs: number,
): object {
  const shown = presentOne(state, id, nowMs)
  reply.header('etag', entityTagOf(state.find(id)))
  return shown
}

export function presentOne(state: PublishedState, id: ResourceId, nowMs: number): object {
  const record = state.find(id)
  if (record !== undefined) return present(record, nowMs)
  if (id.kind !== 'settings') throw new ApiError(404, `there is no ${describe(id.kind, id.name)}`)
  return { ...DEFAULT_SETTINGS, createdAt: null, updatedAt: null, revision: 0 }
}

export function presentPage(
  state: PublishedState,
  kind: Kind,
  page: { readonly limit: number; readonly offset: number },
  nowMs: number,
): object {
  const all = state.list(kind)
  const items = all
    .slice(page.offset, page.offset + page.limit)
    .map((record) => present(record, nowMs))
  return { items, total: all.length }
}

/** A resource of any version, flat with its kind. */
export function presentFlat(resource: Resource): object {
  return { kind: resource.kind, ...presentSpec(resource) }
}

function presentSpec(resource: Resource): object {
  if (resource.kind !== 'certificate') return resource.spec
  const { publicKeyId: _, ...shown } = resource.spec
  return shown
}
