/** Every kind of answer, over all error paths: nothing to frame, guess or keep, and no word of where it failed. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeEach(async () => {
  api = await RunningControlPlane.start()
})
afterEach(() => api.remove())

it.each([
  ['an answer', 'GET', '/api/v1/status', undefined, 200],
  ['a stranger', 'GET', '/api/v1/status', 'wrong', 401],
  ['an unknown path', 'GET', '/api/v1/nothing', undefined, 404],
  ['a malformed request', 'GET', '/api/v1/logs?limit=x', undefined, 400],
  ['a body that is no JSON', 'POST', '/api/v1/routers', undefined, 400],
  ['health', 'GET', '/healthz', undefined, 200],
] as const)(
  '%s comes with strict headers and no stack',
  async (_what, method, path, token, status) => {
    const options = token === undefined ? {} : { token }
    const body = method === 'POST' ? '{' : undefined
    const answer = await api.send(method, path, body, options)
    expect(answer.status).toBe(status)
    expect(answer.headers).toMatchObject({
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|\.ts:|\.js:|at \w+ \(/)
  },
)
