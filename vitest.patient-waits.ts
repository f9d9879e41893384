/**
 * Before each file of unit tests: `vi.waitFor` waits for ten seconds, not for one. The machine may be busy, and
 * a condition that holds ends the wait at once in any case.
 */
import { vi } from 'vitest'

const LEAST_MS = 10_000

const waitFor = vi.waitFor.bind(vi)
vi.waitFor = (callback, options = {}) => {
  const given = typeof options === 'number' ? { timeout: options } : options
  return waitFor(callback, { ...given, timeout: Math.max(given.timeout ?? 0, LEAST_MS) })
}
