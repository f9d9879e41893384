/** Who somebody is, by a password or the admin token and a second factor, as fast as guessing may be. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ADMIN_NAME, type Principal } from '../people/principal.ts'
import type { SecondFactors } from '../people/second-factors.ts'
import type { SignInAttempt, SignInThrottle } from '../people/sign-in-throttle.ts'
import type { Users } from '../people/users.ts'
import { principalOf } from './access.ts'
import type { Authentication } from './authentication.ts'
import { ApiError } from './problem-details.ts'

export interface SignInParts {
  readonly users: Users
  readonly secondFactors: SecondFactors
  readonly throttle: SignInThrottle
}

export interface Credentials {
  readonly token?: string
  readonly name?: string
  readonly password?: string
  readonly code?: string
}

/** Null: whoever has the admin token. */
export async function whoSignsIn(
  request: FastifyRequest<{ Body: Credentials }>,
  reply: FastifyReply,
  parts: SignInParts & { readonly authentication: Authentication },
): Promise<string | null> {
  const { token, name, password } = request.body
  const attempt = { user: name ?? ADMIN_NAME, address: request.ip }
  request.auditNote = { who: await knownName(name, parts.users) }
  requirePatience(parts.throttle, attempt, reply)
  if (token !== undefined && name === undefined && password === undefined) {
    if (!parts.authentication.isAdminToken(token)) {
      throw new ApiError(401, 'that is not the admin token')
    }
  } else if (token === undefined && name !== undefined && password !== undefined) {
    await requirePasswordAndCode({ name, password, code: request.body.code }, parts)
  } else {
    throw new ApiError(400, 'signing in takes a name and a password, or the admin token')
  }
  parts.throttle.succeeded(attempt)
  return name ?? null
}

async function requirePasswordAndCode(
  given: { readonly name: string; readonly password: string; readonly code: string | undefined },
  { users, secondFactors }: SignInParts,
): Promise<void> {
  const { name, password, code } = given
  const user = await users.verify(name, password)
  if (user === undefined) throw new ApiError(401, 'name or password is wrong')
  if (!(await secondFactors.isEnabled(name))) return
  if (code === undefined) throw refusedCode(name, 'is needed')
  if (!(await secondFactors.verify(name, code))) throw refusedCode(name, 'is wrong or was used')
}

/** For what takes more than an open session. Refuses whoever is no user. */
export async function requireOwnPassword(
  request: FastifyRequest,
  reply: FastifyReply,
  password: string,
  { users, throttle }: Pick<SignInParts, 'users' | 'throttle'>,
): Promise<Principal> {
  const principal = principalOf(request)
  const { name } = principal
  await users.find(name)
  const attempt = { user: name, address: request.ip }
  requirePatience(throttle, attempt, reply)
  if ((await users.verify(name, password)) === undefined) {
    const problem = { kind: '', name, field: 'password', reason: 'is wrong' } as const
    throw new ApiError(400, 'the password is wrong', [problem])
  }
  throttle.succeeded(attempt)
  return principal
}

/** A name that is none may be a password in the wrong field, so it is not kept. */
async function knownName(name: string | undefined, users: Users): Promise<string> {
  if (name === undefined) return ADMIN_NAME
  return (await users.list()).some((user) => user.name === name) ? name : ''
}

function requirePatience(
  throttle: SignInThrottle,
  attempt: SignInAttempt,
  reply: FastifyReply,
): void {
  const seconds = Math.ceil(throttle.begin(attempt) / 1_000)
  if (seconds === 0) return
  reply.header('retry-after', seconds)
  throw new ApiError(429, `too many wrong sign-ins; try again in ${seconds} s`)
}

function refusedCode(name: string, reason: string): ApiError {
  const problem = { kind: '', name, field: 'code', reason } as const
  return new ApiError(401, `the code of the second factor ${reason}`, [problem])
}
