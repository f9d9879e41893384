/** Waits on a condition instead of on the clock. Every wait in the tests ends in a bounded time. */
import { setTimeout as delay } from 'node:timers/promises'

export interface Within {
  readonly withinMs: number
  /** Said in the failure message. */
  readonly that?: string
}

/** Asks until `condition` returns something other than undefined or false, and returns that. */
export async function eventually<T>(
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  { withinMs, that = 'the condition' }: Within,
): Promise<T> {
  const deadline = performance.now() + withinMs
  let last: unknown
  do {
    try {
      const value = await condition()
      if (value !== undefined && value !== false) return value
      last = undefined
    } catch (error) {
      last = error
    }
    await delay(20)
  } while (performance.now() < deadline)
  throw new Error(`${that} did not hold within ${withinMs} ms${reasonOf(last)}`, { cause: last })
}

/** The value of `promise`, or an error that says what was waited for. */
export async function bounded<T>(
  promise: Promise<T>,
  withinMs: number,
  that: string | (() => string),
): Promise<T> {
  const abort = new AbortController()
  const late = delay(withinMs, undefined, { signal: abort.signal }).then(
    () => {
      const what = typeof that === 'string' ? that : that()
      throw new Error(`${what} did not happen within ${withinMs} ms`)
    },
    () => new Promise<never>(() => {}),
  )
  try {
    return await Promise.race([promise, late])
  } finally {
    abort.abort()
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? `; last: ${error.message}` : ''
}
