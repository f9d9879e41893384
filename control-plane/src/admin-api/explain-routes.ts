/** What nodes would do with a request. */
import { isIP } from 'node:net'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { Configuration } from '../model/configuration.ts'
import { limits } from '../model/limits.ts'
import { concernedPart } from '../publishing/concerned-resources.ts'
import { readRequest } from '../publishing/explained-request.ts'
import { explain } from '../publishing/explanation.ts'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { responses } from './schemas.ts'

const Text = Type.String({ minLength: 1, maxLength: limits.textCharactersMax })
const strict = { additionalProperties: false } as const

const ExplainRequest = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 8_192, description: 'http:// or https://' }),
    method: Type.Optional(Type.String({ pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", maxLength: 32 })),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Host overrides the host of the URL; routers look at no other field',
      }),
    ),
    from: Type.Optional(
      Type.String({ description: 'address of the client, after trusted peers were looked at' }),
    ),
    entryPoint: Type.Optional(Text),
    version: Type.Optional(Type.Integer({ minimum: 1, description: 'default: the newest' })),
    node: Type.Optional(
      Type.String({
        ...Text,
        description: 'in the version that it runs, with the routers that it gets',
      }),
    ),
  },
  strict,
)

const Nullable = (schema: object) => Type.Unsafe({ anyOf: [schema, { type: 'null' }] })
const ExplainAnswer = Type.Object(
  {
    version: Type.Integer({ description: '0: nothing was ever published' }),
    outcome: Type.Enum([
      'forwarded',
      'draining',
      'not-found',
      'malformed',
      'no-entry-point',
      'no-certificate',
    ]),
    reason: Type.String(),
    request: Type.Object({
      host: Type.String(),
      path: Type.String(),
      method: Type.String(),
      client: Type.String(),
    }),
    entryPoint: Nullable(
      Type.Object({ name: Type.String(), address: Type.String(), protocol: Type.String() }),
    ),
    otherEntryPoints: Type.Array(Type.String()),
    router: Nullable(Type.Object({ name: Type.String(), priority: Type.Integer() })),
    nearRouters: Type.Array(Type.Object({ name: Type.String(), reason: Type.String() })),
    service: Nullable(Type.String()),
    servers: Type.Array(
      Type.Object({ url: Type.String(), weight: Type.Integer(), share: Type.Number() }),
    ),
    certificate: Nullable(
      Type.Object({
        name: Type.String(),
        hosts: Type.Array(Type.String()),
        isDefault: Type.Boolean(),
      }),
    ),
  },
  { title: 'Explanation' },
)

const postExplain = {
  tags: ['explain'],
  description:
    'Which entry point, router, service, servers and certificate a request would get, by the matcher that nodes run.',
  body: ExplainRequest,
  response: responses({ 200: ExplainAnswer }, 400, 401, 404),
}

export const explainRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (app, parts) => {
  app.post('/explain', { schema: postExplain }, async ({ body }) => {
    const request = readRequest(body)
    if (request === undefined) throw new ApiError(400, 'url is not an http:// or https:// URL')
    if (request.from !== '' && isIP(request.from) === 0) {
      throw new ApiError(400, 'from is not an IP address')
    }
    const { version, configuration } = await configurationFor(body, parts)
    return { version, ...explain(configuration, request) }
  })
}

/** For a node: the version that it runs, unless another is asked for, and of it what the node gets. */
async function configurationFor(
  { version, node: name }: Static<typeof ExplainRequest>,
  parts: AdminApiParts,
): Promise<{ readonly version: number; readonly configuration: Configuration }> {
  const newest = Number(parts.publisher.current()?.number ?? 0n)
  if (name === undefined) return configurationAt(version ?? newest, newest, parts)
  const node = await parts.nodes.find(name)
  if (node === undefined) throw new ApiError(404, `there is no node "${name}"`)
  const number = version ?? node.version
  if (number === 0) throw new ApiError(404, `node "${name}" runs no version`)
  const { configuration } = await configurationAt(number, newest, parts)
  return { version: number, configuration: concernedPart(configuration, node.labels) }
}

async function configurationAt(
  number: number,
  newest: number,
  { publisher, archive }: AdminApiParts,
): Promise<{ readonly version: number; readonly configuration: Configuration }> {
  if (number === newest) {
    return { version: newest, configuration: publisher.state.configuration }
  }
  if ((await archive.summary(number)) === undefined) {
    throw new ApiError(404, `there is no version ${number}`)
  }
  const resources = await archive.resources(number)
  return { version: number, configuration: Configuration.empty.with(resources) }
}
