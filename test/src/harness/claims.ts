/**
 * `claims()` gives a test file its `it`: each test gets a scope of its own, ends in a bounded time, and
 * fails with the logs of every process it used. What several tests share lives in `suite`.
 */
import { afterAll, beforeAll, it as vitestIt } from 'vitest'
import { bounded } from './eventually.ts'
import { Scope } from './scope.ts'

const TEST_MS = 60_000
/** What cleaning up may take after a test's own time is over. */
const CLEANUP_MS = 30_000

export interface ClaimOptions {
  readonly withinMs?: number
}

export type Claim = (
  name: string,
  body: (scope: Scope) => Promise<void>,
  options?: ClaimOptions,
) => void

export interface Claims {
  readonly it: Claim
  /** For what all tests of the file share. */
  readonly suite: Scope
  /** Runs once, before the first test. */
  readonly before: (prepare: () => Promise<void>) => void
}

export function claims(): Claims {
  const suite = new Scope()
  const before = (prepare: () => Promise<void>) =>
    beforeAll(async () => {
      try {
        await bounded(prepare(), TEST_MS, 'the preparation')
      } catch (error) {
        throw withLogs(error, suite.logs())
      }
    }, TEST_MS + CLEANUP_MS)
  afterAll(() => suite.close(), CLEANUP_MS)
  const it: Claim = (name, body, { withinMs = TEST_MS } = {}) => {
    vitestIt(name, { timeout: withinMs + CLEANUP_MS }, async () => {
      const scope = new Scope()
      try {
        await bounded(body(scope), withinMs, 'the end of the test')
      } catch (error) {
        const failure = withLogs(error, [suite.logs(), scope.logs()].filter(Boolean).join('\n'))
        // What goes wrong in cleaning up after a failure must not hide the failure.
        await scope.close().catch(() => {})
        throw failure
      }
      await scope.close()
    })
  }
  return { it, suite, before }
}

/** Keeps the error itself, since the runner shows the difference that an assertion carries. */
function withLogs(error: unknown, logs: string): unknown {
  if (error instanceof Error) error.message = `${error.message}\n${logs}`
  return error
}

/** Seconds that a load test lasts. 60 is what the project promises; shorter by default, to keep CI short. */
export function loadSeconds(): number {
  return Number(process.env.SLUICE_TEST_SECONDS ?? 15)
}
