/** Everything that is configured, out of one control plane and into another one. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { idOf } from '../model/configuration.ts'
import type { Change } from '../publishing/changes.ts'
import { exportYaml } from '../publishing/export.ts'
import { type Import, readImport } from '../publishing/import.ts'
import type { PublishedState } from '../publishing/published-state.ts'
import { ApplyAnswer } from './change-schemas.ts'
import { apiLimits } from './limits.ts'
import type { AdminApiParts } from './parts.ts'
import { ApiError } from './problem-details.ts'
import { MessageQuery, responses } from './schemas.ts'

const yaml = 'application/yaml'
const tags = ['transfer']
const headers = Type.Object({
  'sluice-passphrase': Type.Optional(
    Type.String({
      description: 'percent-encoded UTF-8; seals the private keys, which are left out without it',
    }),
  ),
})
const getExport = {
  tags,
  description: 'All resources of the newest version as YAML documents.',
  headers,
  response: {
    ...responses({}, 400, 401),
    200: { description: 'success', content: { [yaml]: { schema: Type.String() } } },
  },
}
const postImport = {
  tags,
  description: 'Publishes an export as one version, or nothing of it.',
  consumes: [yaml],
  headers,
  querystring: Type.Object(
    {
      ...MessageQuery.properties,
      replace: Type.Boolean({
        default: false,
        description: 'delete what the import does not have',
      }),
    },
    { additionalProperties: false },
  ),
  body: Type.String(),
  response: responses({ 200: ApplyAnswer }, 400, 401, 409, 413, 415, 422),
}

export const transferRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { publisher, writer },
) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(yaml, { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.get('/export', { schema: getExport }, async (request, reply) => {
    const current = publisher.current()
    const source = {
      version: Number(current?.number ?? 0n),
      hash: current?.hash ?? '',
      state: publisher.state,
      findKey: (id: string) => publisher.findKey(id),
    }
    const text = await exportYaml(source, passphraseOf(request))
    reply.header('content-type', yaml).header('cache-control', 'no-store')
    return reply.send(text)
  })
  app.post(
    '/import',
    { schema: postImport, bodyLimit: apiLimits.importBytesMax },
    async (request, reply) => {
      const read = await readImport(request.body, passphraseOf(request))
      const { replace } = request.query
      return writer.writeAll(request, reply, {
        changes: (state) => (replace ? [...read.changes, ...left(read, state)] : read.changes),
        keys: read.keys,
        message: `import ${read.changes.length} resources`,
      })
    },
  )
}

/** Removals of what an import does not have. */
function left({ ids }: Import, state: PublishedState): Change[] {
  return Array.from(state.records, ({ resource }) => idOf(resource))
    .filter(({ kind, name }) => kind !== 'settings' && !ids.has(`${kind} ${name}`))
    .map((id) => ({ op: 'remove', ...id }))
}

function passphraseOf({ headers: given }: FastifyRequest): string | undefined {
  const header = given['sluice-passphrase']
  if (typeof header !== 'string') return undefined
  const passphrase = decoded(header)
  const { passphraseCharactersMin: min, passphraseCharactersMax: max } = apiLimits
  if (passphrase === undefined || passphrase.length < min || passphrase.length > max) {
    throw new ApiError(
      400,
      `the header Sluice-Passphrase must be percent-encoded text of ${min} to ${max} characters`,
    )
  }
  return passphrase
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    // Told by the caller.
    return undefined
  }
}
