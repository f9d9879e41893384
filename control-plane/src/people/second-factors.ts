/**
 * Codes of an authenticator (TOTP, RFC 6238) beside the password, and recovery codes for when it is lost. The
 * secret is sealed in the database; of recovery codes it has the hashes. Every code is good for one use.
 */
import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { Refusal } from '../model/refusal.ts'
import type { Database } from '../store/database.ts'
import { sealContexts } from '../store/seal-contexts.ts'
import {
  findSecondFactor,
  removeSecondFactor,
  replaceSecondFactor,
  useRecoveryCode,
  useTimeStep,
} from '../store/second-factors.ts'
import { removeSessionsOf } from '../store/sessions.ts'
import type { Vault } from '../store/vault.ts'
import { peopleLimits } from './limits.ts'

const issuer = 'Sluice'
const stepSeconds = 30
/** RFC 4226 section 4 asks for 16 bytes and recommends 20. */
const secretBytes = 20
const recoveryBytes = 10
/** The steps before and after the current one, for clocks that are off. */
const stepsAround = 1

export class SecondFactors {
  readonly #db: Database
  readonly #vault: Vault
  readonly #now: () => number

  constructor(options: {
    readonly db: Database
    readonly vault: Vault
    readonly now: () => number
  }) {
    this.#db = options.db
    this.#vault = options.vault
    this.#now = options.now
  }

  /** A secret for an authenticator. Nothing is kept before `enable`. */
  propose(user: string): { readonly secret: string; readonly uri: string } {
    const secret = new Secret({ size: secretBytes })
    return { secret: secret.base32, uri: generatorOf(user, secret).toString() }
  }

  /** Returns the recovery codes, which are shown this once. Ends the other sessions of the user. */
  async enable(
    user: string,
    given: { readonly secret: string; readonly code: string; readonly keptSession?: string },
  ): Promise<string[]> {
    const secret = readSecret(user, given.secret)
    const step = this.#stepOf(user, secret, given.code)
    if (step === undefined) throw wrong(user, 'code', 'is not one that the secret gives now')
    const codes = Array.from({ length: peopleLimits.recoveryCodes }, makeRecoveryCode)
    const row = {
      user,
      sealed: this.#vault.seal(secret.bytes, sealContexts.secondFactor(user)),
      used_step: step,
    }
    await this.#db.transaction().execute(async (transaction) => {
      await replaceSecondFactor(transaction, row, codes.map(hashOf))
      await removeSessionsOf(transaction, user, given.keptSession)
    })
    return codes
  }

  async disable(user: string): Promise<void> {
    await removeSecondFactor(this.#db, user)
  }

  async isEnabled(user: string): Promise<boolean> {
    return (await findSecondFactor(this.#db, user)) !== undefined
  }

  /** Takes a code of the authenticator or a recovery code, and uses it up. */
  async verify(user: string, code: string): Promise<boolean> {
    const row = await findSecondFactor(this.#db, user)
    if (row === undefined) return false
    const opened = this.#vault.open(row.sealed, sealContexts.secondFactor(user))
    const secret = new Secret({ buffer: Uint8Array.from(opened).buffer })
    const step = this.#stepOf(user, secret, code)
    if (step !== undefined) return useTimeStep(this.#db, user, step)
    return useRecoveryCode(this.#db, user, hashOf(code))
  }

  /** The number of the 30 s that the code belongs to; undefined: to none near now. */
  #stepOf(user: string, secret: Secret, code: string): number | undefined {
    const timestamp = this.#now()
    const token = code.replaceAll(' ', '')
    const delta = generatorOf(user, secret).validate({ token, timestamp, window: stepsAround })
    return delta === null ? undefined : Math.floor(timestamp / 1_000 / stepSeconds) + delta
  }
}

function generatorOf(user: string, secret: Secret): TOTP {
  return new TOTP({ issuer, label: user, secret, period: stepSeconds, digits: 6 })
}

function readSecret(user: string, text: string): Secret {
  const isBase32 = /^[A-Z2-7]+$/.test(text)
  const secret = isBase32 ? Secret.fromBase32(text) : undefined
  if (secret?.bytes.length === secretBytes) return secret
  throw wrong(user, 'secret', `is not base32 of ${secretBytes} bytes`)
}

/** 80 bits, so that the hashes cannot be tried out: XXXX-XXXX-XXXX-XXXX. */
function makeRecoveryCode(): string {
  const { base32 } = new Secret({ buffer: Uint8Array.from(randomBytes(recoveryBytes)).buffer })
  return base32.replace(/(.{4})(?!$)/g, '$1-')
}

function hashOf(code: string): Buffer {
  const plain = code.toUpperCase().replaceAll(/[^A-Z2-7]/g, '')
  return createHash('sha256').update(plain).digest()
}

function wrong(name: string, field: string, reason: string): Refusal {
  return new Refusal('malformed', [{ kind: '', name, field, reason }])
}
