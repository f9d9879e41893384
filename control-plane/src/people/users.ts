/** The people who may sign in with a password. */
import { Refusal } from '../model/refusal.ts'
import type { Database } from '../store/database.ts'
import { removeSecondFactor } from '../store/second-factors.ts'
import { removeSessionsOf } from '../store/sessions.ts'
import {
  findUser,
  insertUser,
  listUsers,
  removeUser,
  type UserRecord,
  updateUser,
} from '../store/users.ts'
import { peopleLimits } from './limits.ts'
import type { Passwords } from './passwords.ts'
import { type Role, reservedNames } from './principal.ts'

export interface User {
  readonly name: string
  readonly role: Role
  readonly isDisabled: boolean
  readonly hasSecondFactor: boolean
  readonly createdAt: string
  readonly passwordChangedAt: string
}

export interface UserChange {
  readonly role?: Role
  readonly isDisabled?: boolean
  /** False: takes the second factor away, for who has lost it. */
  readonly hasSecondFactor?: false
  readonly password?: string
}

export class Users {
  readonly #db: Database
  readonly #passwords: Passwords
  readonly #now: () => number

  constructor(options: {
    readonly db: Database
    readonly passwords: Passwords
    readonly now: () => number
  }) {
    this.#db = options.db
    this.#passwords = options.passwords
    this.#now = options.now
  }

  async list(): Promise<User[]> {
    return (await listUsers(this.#db)).map(toUser)
  }

  async find(name: string): Promise<User> {
    return toUser(await this.#require(name))
  }

  async add(given: {
    readonly name: string
    readonly role: Role
    readonly password: string
  }): Promise<User> {
    const { name, role, password } = given
    if (reservedNames.includes(name))
      throw taken(name, 'is what versions of no user are signed with')
    requireStrength(name, password)
    if ((await listUsers(this.#db)).length >= peopleLimits.usersMax) {
      throw new Refusal('invalid', [], `there are ${peopleLimits.usersMax} users already`)
    }
    const row: UserRecord = {
      name,
      role,
      password: await this.#passwords.hash(password),
      is_disabled: 0,
      created_at_ms: this.#now(),
      password_changed_at_ms: this.#now(),
    }
    if (!(await insertUser(this.#db, row))) throw taken(name, 'is taken')
    return toUser({ ...row, has_second_factor: 0 })
  }

  /** A new password ends the sessions of the user, except the one that is named; so does being disabled. */
  async change(
    name: string,
    { role, isDisabled, hasSecondFactor, password }: UserChange,
    keptSession?: string,
  ): Promise<User> {
    await this.#require(name)
    if (password !== undefined) requireStrength(name, password)
    const changed = {
      ...(role !== undefined && { role }),
      ...(isDisabled !== undefined && { is_disabled: isDisabled ? (1 as const) : (0 as const) }),
      ...(password !== undefined && {
        password: await this.#passwords.hash(password),
        password_changed_at_ms: this.#now(),
      }),
    }
    await this.#db.transaction().execute(async (transaction) => {
      if (Object.keys(changed).length > 0) await updateUser(transaction, name, changed)
      if (hasSecondFactor === false) await removeSecondFactor(transaction, name)
      if (password !== undefined || isDisabled === true) {
        await removeSessionsOf(transaction, name, keptSession)
      }
    })
    return this.find(name)
  }

  async remove(name: string): Promise<void> {
    if (!(await removeUser(this.#db, name))) throw notFound(name)
  }

  /** Undefined, after the same time: no such user, a wrong password, or a user who is disabled. */
  async verify(name: string, password: string): Promise<User | undefined> {
    const row = await findUser(this.#db, name)
    const isRight = await this.#passwords.verify(password, row?.password)
    return isRight && row !== undefined && row.is_disabled === 0 ? toUser(row) : undefined
  }

  async #require(name: string) {
    const row = await findUser(this.#db, name)
    if (row === undefined) throw notFound(name)
    return row
  }
}

function requireStrength(name: string, password: string): void {
  const { passwordCharactersMin: min, passwordCharactersMax: max } = peopleLimits
  const reason =
    password.length < min || password.length > max
      ? `must have ${min} to ${max} characters`
      : password.toLowerCase() === name
        ? 'must not be the name'
        : undefined
  if (reason === undefined) return
  throw new Refusal('malformed', [{ kind: '', name, field: 'password', reason }])
}

function taken(name: string, reason: string): Refusal {
  return new Refusal('name-taken', [{ kind: '', name, field: 'name', reason }])
}

function notFound(name: string): Refusal {
  return new Refusal('not-found', [], `there is no user "${name}"`)
}

function toUser(row: UserRecord & { readonly has_second_factor: number }): User {
  return {
    name: row.name,
    role: row.role,
    isDisabled: row.is_disabled === 1,
    hasSecondFactor: row.has_second_factor === 1,
    createdAt: new Date(row.created_at_ms).toISOString(),
    passwordChangedAt: new Date(row.password_changed_at_ms).toISOString(),
  }
}
