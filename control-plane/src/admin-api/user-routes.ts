/** The people who may sign in. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { changeOf } from '../model/audit-entry.ts'
import { peopleLimits } from '../people/limits.ts'
import { ROLES } from '../people/principal.ts'
import type { User as UserView } from '../people/users.ts'
import type { AdminApiParts } from './parts.ts'
import { pageOf, responses, Time } from './schemas.ts'

const tags = ['users']
const strict = { additionalProperties: false } as const
const RoleSchema = Type.Enum([...ROLES], {
  description: 'viewer: reads; editor: also writes the configuration; admin: everything',
})
const Password = Type.String({
  minLength: peopleLimits.passwordCharactersMin,
  maxLength: peopleLimits.passwordCharactersMax,
})
const User = Type.Object(
  {
    name: Type.String(),
    role: RoleSchema,
    isDisabled: Type.Boolean({ description: 'true: may not sign in' }),
    hasSecondFactor: Type.Boolean(),
    createdAt: Time,
    passwordChangedAt: Time,
  },
  { title: 'User' },
)
const params = Type.Object({ name: Type.String() })
const listUsers = { tags, response: responses({ 200: pageOf(User) }, 401) }
const getUser = { tags, params, response: responses({ 200: User }, 401, 404) }
const postUser = {
  tags,
  body: Type.Object(
    {
      name: Type.String({
        pattern: '^[a-z0-9]([a-z0-9._@+-]{0,61}[a-z0-9])?$',
        description: '1 to 63 characters a-z, 0-9, ".", "_", "@", "+" and "-", like an address',
      }),
      role: RoleSchema,
      password: Password,
    },
    strict,
  ),
  response: responses({ 201: User }, 400, 401, 409, 413, 415, 422, 429),
}
const patchUser = {
  tags,
  params,
  description: 'A new password, and being disabled, ends the sessions of the user.',
  body: Type.Object(
    {
      role: Type.Optional(RoleSchema),
      isDisabled: Type.Optional(Type.Boolean()),
      hasSecondFactor: Type.Optional(
        Type.Literal(false, { description: 'takes it away, for who has lost it' }),
      ),
      password: Type.Optional(Password),
    },
    { ...strict, minProperties: 1 },
  ),
  response: responses({ 200: User }, 400, 401, 404, 413, 415, 429),
}
const deleteUser = {
  tags,
  params,
  description: 'Also ends the sessions of the user.',
  response: responses({ 204: Type.Null({ description: 'removed' }) }, 401, 404),
}

export const userRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (app, { users }) => {
  app.get('/users', { schema: listUsers }, async () => {
    const items = await users.list()
    return { items, total: items.length }
  })
  app.get('/users/:name', { schema: getUser }, ({ params: { name } }) => users.find(name))
  app.post('/users', { schema: postUser }, async (request, reply) => {
    const user = await users.add(request.body)
    note(request, user.name, undefined, user)
    reply.code(201).header('location', `/api/v1/users/${user.name}`)
    return user
  })
  app.patch('/users/:name', { schema: patchUser }, async (request) => {
    const { name } = request.params
    const before = await users.find(name)
    const after = await users.change(name, request.body)
    note(request, name, before, after)
    return after
  })
  app.delete('/users/:name', { schema: deleteUser }, async (request, reply) => {
    const { name } = request.params
    const before = await users.find(name)
    await users.remove(name)
    note(request, name, before, undefined)
    reply.code(204)
  })
}

function note(
  request: FastifyRequest,
  name: string,
  before: UserView | undefined,
  after: UserView | undefined,
): void {
  request.auditNote = { object: name, changes: [changeOf('user', name, before, after)] }
}
