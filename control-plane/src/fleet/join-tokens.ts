/**
 * Tokens that let a machine become a node: made, listed and removed by operators, found by enrolment.
 * Only the hash of a token's secret is kept, so what the database holds cannot be used to join.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { CertificateAuthority } from '../certificates/authority.ts'
import { findLabelProblem } from '../model/labels.ts'
import type { Database } from '../store/database.ts'
import {
  insertJoinToken,
  type JoinTokenRecord,
  listJoinTokens,
  removeJoinToken,
  removeJoinTokensExpiredBefore,
} from '../store/join-tokens.ts'
import { readLabels } from './labels.ts'
import { fleetLimits as limits } from './limits.ts'

export interface JoinTokenView {
  readonly id: string
  readonly labels: Readonly<Record<string, string>>
  readonly uses: number
  readonly usesLeft: number
  readonly createdAt: string
  readonly expiresAt: string
}

export interface CreatedJoinToken extends JoinTokenView {
  /** Shown this once. */
  readonly token: string
}

export interface JoinTokenRequest {
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly expiresInSeconds?: number | undefined
  readonly uses?: number | undefined
}

/** A token cannot be made as asked for. */
export class JoinTokenError extends Error {
  override readonly name = 'JoinTokenError'
  readonly field: string
  readonly reason: string

  constructor(field: string, reason: string) {
    super(`${field} ${reason}`)
    this.field = field
    this.reason = reason
  }
}

export type TokenVerdict =
  | { readonly kind: 'valid'; readonly id: string; readonly labels: Record<string, string> }
  | { readonly kind: 'refused'; readonly reason: string }

const secretBytes = 32
const tokenPattern = /^sluice-join\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/
const defaults = Object.freeze({ expiresInSeconds: 3_600, uses: 1 })

export class JoinTokens {
  readonly #db: Database
  readonly #authorityFingerprint: Buffer
  readonly #now: () => number

  constructor(options: {
    readonly db: Database
    readonly authority: CertificateAuthority
    readonly now: () => number
  }) {
    this.#db = options.db
    this.#authorityFingerprint = Buffer.from(options.authority.fingerprint, 'hex')
    this.#now = options.now
  }

  /** `alongside` writes rows of its own with the token's: both or neither. */
  async create(
    request: JoinTokenRequest,
    alongside?: (transaction: Database) => Promise<void>,
  ): Promise<CreatedJoinToken> {
    const labels = request.labels ?? {}
    const expiresInSeconds = request.expiresInSeconds ?? defaults.expiresInSeconds
    const uses = request.uses ?? defaults.uses
    const problem = findLabelProblem(labels)
    if (problem !== undefined) {
      throw new JoinTokenError('labels', problem)
    }
    assertWhole('expiresInSeconds', expiresInSeconds, limits.joinTokenSecondsMax)
    assertWhole('uses', uses, limits.joinTokenUsesMax)
    await removeJoinTokensExpiredBefore(this.#db, this.#now() - limits.joinTokenRememberedMs)
    if ((await listJoinTokens(this.#db)).length >= limits.joinTokensMax) {
      const reason = `there are ${limits.joinTokensMax} already; remove some first`
      throw new JoinTokenError('join tokens:', reason)
    }
    const secret = randomBytes(secretBytes)
    const nowMs = this.#now()
    const row: JoinTokenRecord = {
      id: randomBytes(6).toString('hex'),
      secret_hash: hashSecret(secret),
      labels: JSON.stringify(labels),
      uses_total: uses,
      uses_left: uses,
      created_at_ms: nowMs,
      expires_at_ms: nowMs + expiresInSeconds * 1_000,
    }
    await this.#db.transaction().execute(async (tx) => {
      await insertJoinToken(tx, row)
      await alongside?.(tx)
    })
    const fingerprint = this.#authorityFingerprint.toString('base64url')
    return { ...toView(row), token: `sluice-join.${secret.toString('base64url')}.${fingerprint}` }
  }

  async list(): Promise<JoinTokenView[]> {
    return (await listJoinTokens(this.#db)).map(toView)
  }

  /** False: there is no such token. */
  remove(id: string): Promise<boolean> {
    return removeJoinToken(this.#db, id)
  }

  /**
   * Judges a token without using it up. All hashes are compared, each in constant time; what is wrong is
   * told, since whoever holds the right secret may know it and nobody else gets as far.
   */
  async verify(token: string): Promise<TokenVerdict> {
    const match = token.length > limits.tokenCharactersMax ? null : tokenPattern.exec(token)
    if (match === null) {
      return refused('the join token is malformed: it must be sluice-join.SECRET.FINGERPRINT')
    }
    const [, secret = '', fingerprint = ''] = match
    if (!Buffer.from(fingerprint, 'base64url').equals(this.#authorityFingerprint)) {
      return refused('the join token belongs to another control plane')
    }
    const hash = hashSecret(Buffer.from(secret, 'base64url'))
    let found: JoinTokenRecord | undefined
    for (const row of await listJoinTokens(this.#db)) {
      found = timingSafeEqual(row.secret_hash, hash) ? row : found
    }
    if (found === undefined) {
      return refused('the join token is unknown or was removed')
    }
    if (found.expires_at_ms <= this.#now()) {
      return refused(`the join token expired at ${new Date(found.expires_at_ms).toISOString()}`)
    }
    if (found.uses_left === 0) {
      return refused('the join token is used up')
    }
    return { kind: 'valid', id: found.id, labels: readLabels(found.labels) }
  }
}

function refused(reason: string): TokenVerdict {
  return { kind: 'refused', reason }
}

function hashSecret(secret: Uint8Array): Buffer {
  return createHash('sha256').update(secret).digest()
}

function assertWhole(field: string, value: number, max: number): void {
  if (!Number.isSafeInteger(value) || value < 1 || value > max) {
    throw new JoinTokenError(field, `is not a whole number from 1 to ${max}`)
  }
}

function toView(row: JoinTokenRecord): JoinTokenView {
  return {
    id: row.id,
    labels: readLabels(row.labels),
    uses: row.uses_total,
    usesLeft: row.uses_left,
    createdAt: new Date(row.created_at_ms).toISOString(),
    expiresAt: new Date(row.expires_at_ms).toISOString(),
  }
}
