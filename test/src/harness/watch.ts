/** Lets tests wait for what something becomes, without asking again and again. Its owner says when it changed. */
import { bounded } from './eventually.ts'

export class Watch {
  readonly #waiting = new Set<() => void>()

  changed(): void {
    for (const check of [...this.#waiting]) check()
  }

  /** The first value other than undefined that `look` gives; what `look` throws ends the wait. */
  async until<T>(look: () => T | undefined, withinMs: number, that: () => string): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const check = () => {
      try {
        const value = look()
        if (value !== undefined) resolve(value)
      } catch (error) {
        reject(error)
      }
    }
    this.#waiting.add(check)
    check()
    try {
      return await bounded(promise, withinMs, that)
    } finally {
      this.#waiting.delete(check)
    }
  }
}
