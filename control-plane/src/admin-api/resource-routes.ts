/** The collections of entry points, routers, services and certificates: they differ in their schemas only. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { documentSchemas, locate, toDocument } from '../model/documents.ts'
import { Refusal } from '../model/refusal.ts'
import { documentId, renaming } from '../publishing/changes.ts'
import type { AdminApiParts } from './parts.ts'
import { presentOne, presentPage } from './representation.ts'
import { answers, NameParameters, PageQuery, pageOf, responses } from './schemas.ts'
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
  const { kind, path, publisher, writer, now } = options
  const schemas = schemasOf(kind, path)
  const locateBody: Locate = (problems, body) => locate(problems, kind, body)
  const config = { locate: locateBody }
  const one = `/${path}/:name`

  app.get(`/${path}`, { schema: schemas.list }, ({ query }) =>
    presentPage(publisher.state, kind, query, now()),
  )
  app.post(`/${path}`, { schema: schemas.create, config }, async ({ body }, reply) => {
    const document = toDocument(kind, body)
    await writer.write(reply, { op: 'create', document })
    const { name } = documentId(document)
    reply.code(201).header('location', `/api/v1/${path}/${name}`)
    return presentOne(publisher.state, { kind, name }, now())
  })
  app.get(one, { schema: schemas.read }, ({ params }) =>
    presentOne(publisher.state, { kind, name: params.name }, now()),
  )
  app.put(one, { schema: schemas.replace, config }, async ({ params: { name }, body }, reply) => {
    const document = toDocument(kind, body)
    const given = documentId(document).name
    if (given !== name) throw new Refusal('malformed', [renaming(kind, name, given)])
    await writer.write(reply, { op: 'replace', document })
    return presentOne(publisher.state, { kind, name }, now())
  })
  app.patch(one, { schema: schemas.patch }, async ({ params: { name }, body }, reply) => {
    await writer.write(reply, { op: 'patch', kind, name, patch: body })
    return presentOne(publisher.state, { kind, name }, now())
  })
  app.delete(one, { schema: schemas.remove }, async ({ params: { name } }, reply) => {
    await writer.write(reply, { op: 'remove', kind, name })
    reply.code(204)
  })
}

function schemasOf(kind: CollectionKind, path: string) {
  const tags = [path]
  const params = NameParameters
  const body = documentSchemas[kind]
  const answer = answers[kind]
  return {
    list: {
      tags,
      querystring: PageQuery,
      response: responses({ 200: pageOf(answer) }, 400, 401),
    },
    create: {
      tags,
      body,
      response: responses({ 201: answer }, 400, 401, 409, 413, 415, 422),
    },
    read: { tags, params, response: responses({ 200: answer }, 401, 404) },
    replace: {
      tags,
      params,
      body,
      response: responses({ 200: answer }, 400, 401, 404, 413, 415, 422),
    },
    patch: {
      tags,
      params,
      description: 'An RFC 7396 merge patch.',
      consumes: ['application/merge-patch+json', 'application/json'],
      body: Type.Object(
        {},
        { description: 'fields to replace; null takes a field back to its default' },
      ),
      response: responses({ 200: answer }, 400, 401, 404, 413, 415, 422),
    },
    remove: {
      tags,
      params,
      response: responses({ 204: Type.Null({ description: 'deleted' }) }, 401, 404, 409),
    },
  }
}
