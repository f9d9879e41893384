/**
 * Hashes of passwords by scrypt (RFC 7914), with the parameters in each, so that they can be raised for new ones.
 * A password of nobody is verified all the same: how long that takes must not tell whether there is such a user.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { Refusal } from '../model/refusal.ts'
import { peopleLimits } from './limits.ts'

const derive = promisify<string, Uint8Array, number, ScryptOptions, Buffer>(scrypt)

const parameters = { cost: 2 ** 15, blockSize: 8, parallelization: 3 }
const saltBytes = 16
const hashBytes = 32
/** Of scrypt's own table, 128 * cost * blockSize, and some more. */
const memoryBytesMax = 64 * 2 ** 20

export class Passwords {
  readonly #ofNobody = write(parameters, randomBytes(saltBytes), randomBytes(hashBytes))
  readonly #waiting: (() => void)[] = []
  #running = 0

  async hash(password: string): Promise<string> {
    const salt = randomBytes(saltBytes)
    return write(parameters, salt, await this.#derive(password, salt, parameters))
  }

  /** `stored` as `hash` made it; undefined: there is no such user, which takes as long and is false. */
  async verify(password: string, stored: string | undefined): Promise<boolean> {
    const { salt, hash, ...used } = read(stored ?? this.#ofNobody)
    const derived = await this.#derive(password, salt, used)
    return timingSafeEqual(derived, hash) && stored !== undefined
  }

  async #derive(password: string, salt: Uint8Array, used: typeof parameters): Promise<Buffer> {
    await this.#begin()
    try {
      const options = { ...used, maxmem: memoryBytesMax }
      return await derive(password.normalize('NFC'), salt, hashBytes, options)
    } finally {
      this.#running -= 1
      this.#waiting.shift()?.()
    }
  }

  async #begin(): Promise<void> {
    if (this.#running >= peopleLimits.hashesAtOnceMax) {
      if (this.#waiting.length >= peopleLimits.hashesWaitingMax) {
        throw new Refusal('too-many', [], 'too many sign in at the same time; try again later')
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    this.#running += 1
  }
}

function write(
  { cost, blockSize, parallelization }: typeof parameters,
  salt: Uint8Array,
  hash: Uint8Array,
): string {
  const texts = [salt, hash].map((bytes) => Buffer.from(bytes).toString('base64url'))
  return ['scrypt', cost, blockSize, parallelization, ...texts].join('$')
}

function read(stored: string) {
  const [, cost, blockSize, parallelization, salt = '', hash = ''] = stored.split('$')
  return {
    cost: Number(cost),
    blockSize: Number(blockSize),
    parallelization: Number(parallelization),
    salt: Buffer.from(salt, 'base64url'),
    hash: Buffer.from(hash, 'base64url'),
  }
}
