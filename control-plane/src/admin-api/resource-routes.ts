/** The collections of entry points, routers, services and certificates: they differ in their schemas only. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { bodySchemas, fromBody } from '../model/bodies.ts'
import { locate } from '../model/documents.ts'
import { Refusal } from '../model/refusal.ts'
import { documentId, renaming } from '../publishing/changes.ts'
import type { AdminApiParts } from './parts.ts'
import { answerOne, presentPage } from './representation.ts'
import {
  answers,
  CreateHeaders,
  DraftPageQuery,
  DraftQuery,
  NameParameters,
  pageOf,
  responses,
  WriteHeaders,
  WriteQuery,
} from './schemas.ts'
import type { Locate } from './validation.ts'

export type CollectionKind = 'entry-point' | 'router' | 'service' | 'certificate'

export interface CollectionOptions extends AdminApiParts {
  readonly kind: CollectionKind
  readonly path: string
}

export const resourceRoutes: FastifyPluginAsyncTypebox<CollectionOptions> = async (
  app,
  options,
) => {
  const { kind, path, writer, now } = options
  const schemas = schemasOf(kind, path)
  const locateBody: Locate = (problems, body) => locate(problems, kind, body)
  const config = { locate: locateBody }
  const one = `/${path}/:name`

  app.get(`/${path}`, { schema: schemas.list }, async ({ query }) =>
    presentPage(await writer.state(query), kind, query, now()),
  )
  const create = { schema: schemas.create, config: { ...config, isIdempotent: true } }
  app.post(`/${path}`, create, async (request, reply) => {
    const document = fromBody(kind, request.body)
    const state = await writer.write(request, reply, { op: 'create', document })
    const { name } = documentId(document)
    reply.code(201).header('location', `/api/v1/${path}/${name}`)
    return answerOne(reply, state, { kind, name }, now())
  })
  app.get(one, { schema: schemas.read }, async ({ params: { name }, query }, reply) =>
    answerOne(reply, await writer.state(query), { kind, name }, now()),
  )
  app.put(one, { schema: schemas.replace, config }, async (request, reply) => {
    const { name } = request.params
    const document = fromBody(kind, request.body)
    const given = documentId(document).name
    if (given !== name) throw new Refusal('malformed', [renaming(kind, name, given)])
    // A writer who expects that there is none wants to have one made.
    const op = request.headers['if-none-match'] === '*' ? 'create' : 'replace'
    const state = await writer.write(request, reply, { op, document })
    if (op === 'create') reply.code(201)
    return answerOne(reply, state, { kind, name }, now())
  })
  app.patch(one, { schema: schemas.patch }, async (request, reply) => {
    const { name } = request.params
    const state = await writer.write(request, reply, {
      op: 'patch',
      kind,
      name,
      patch: request.body,
    })
    return answerOne(reply, state, { kind, name }, now())
  })
  app.delete(one, { schema: schemas.remove }, async (request, reply) => {
    await writer.write(request, reply, { op: 'remove', kind, name: request.params.name })
    reply.code(204)
  })
}

function schemasOf(kind: CollectionKind, path: string) {
  const tags = [path]
  const params = NameParameters
  // Of an object, whatever its kind.
  const body = Type.Unsafe<object>(bodySchemas[kind])
  const write = { querystring: WriteQuery, headers: WriteHeaders }
  const answer = answers[kind]
  return {
    list: {
      tags,
      querystring: DraftPageQuery,
      response: responses({ 200: pageOf(answer) }, 400, 401),
    },
    create: {
      tags,
      querystring: WriteQuery,
      headers: CreateHeaders,
      body,
      response: responses({ 201: answer }, 400, 401, 409, 413, 415, 422),
    },
    read: {
      tags,
      params,
      querystring: DraftQuery,
      response: responses({ 200: answer }, 400, 401, 404),
    },
    replace: {
      tags,
      params,
      ...write,
      description: 'With "If-None-Match: *" it creates; else there must be one to replace.',
      body,
      response: responses({ 200: answer, 201: answer }, 400, 401, 404, 412, 413, 415, 422),
    },
    patch: {
      tags,
      params,
      ...write,
      description: 'An RFC 7396 merge patch.',
      consumes: ['application/merge-patch+json', 'application/json'],
      body: Type.Object(
        {},
        { description: 'fields to replace; null takes a field back to its default' },
      ),
      response: responses({ 200: answer }, 400, 401, 404, 412, 413, 415, 422),
    },
    remove: {
      tags,
      params,
      ...write,
      response: responses({ 204: Type.Null({ description: 'deleted' }) }, 400, 401, 404, 409, 412),
    },
  }
}
