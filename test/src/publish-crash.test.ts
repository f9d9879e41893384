/** A control plane that is killed while it publishes: a version with all of a change, or none of it. */
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { service } from './harness/fleet.ts'

const { it } = claims()
const KILLS = 6
/** Spread over what a publish takes: from before the request is read to after its answer. */
const killAfterMs = (turn: number) => turn * 4

interface Status {
  readonly version: number
}

it(
  'a draft is published whole and gone, or there and whole, wherever the kill comes',
  async (scope) => {
    const controlPlane = await ControlPlane.start(scope)
    const { api } = controlPlane
    await api.apply(service('base', [1]))
    const outcomes = new Set<string>()
    for (let turn = 0; turn < KILLS; turn += 1) {
      const names = ['a', 'b', 'c'].map((name) => `${name}-${turn}`)
      const resources = names.map((name) => service(name, [1]))
      await api.post('/api/v1/apply?draft=work', { resources })
      const { version } = await api.get<Status>('/api/v1/status')
      const answered = api.call('POST', '/api/v1/drafts/work/publish').catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, killAfterMs(turn)))
      await controlPlane.kill()
      const answer = await answered
      await controlPlane.startAgain()
      const after = (await api.get<Status>('/api/v1/status')).version
      const drafts = await api.get<{ total: number }>('/api/v1/drafts')
      const found = await Promise.all(
        names.map(async (name) => (await api.call('GET', `/api/v1/services/${name}`)).status),
      )
      const isPublished = after === version + 1
      expect([after - version, drafts.total, ...found]).toEqual(
        isPublished ? [1, 0, 200, 200, 200] : [0, 1, 404, 404, 404],
      )
      if (answer?.status === 200) expect(isPublished).toBe(true)
      outcomes.add(isPublished ? 'published' : 'kept')
      if (!isPublished) await api.call('DELETE', '/api/v1/drafts/work')
    }
    expect(outcomes).toContain('published')
  },
  { withinMs: 120_000 },
)

it(
  'a create with an idempotency key is made once, wherever the kill comes',
  async (scope) => {
    const controlPlane = await ControlPlane.start(scope)
    const { api } = controlPlane
    for (let turn = 0; turn < KILLS; turn += 1) {
      const { version } = await api.get<Status>('/api/v1/status')
      const { kind: _, ...body } = service(`once-${turn}`, [1])
      const headers = { 'idempotency-key': `turn-${turn}` }
      const create = () => api.call('POST', '/api/v1/services', { body, headers })
      const answered = create().catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, killAfterMs(turn)))
      await controlPlane.kill()
      const first = await answered
      await controlPlane.startAgain()
      const again = await create()
      // 409 tells that it was made and that the answer was lost.
      expect([201, 409]).toContain(again.status)
      if (again.status === 409) expect(again.text).toContain('idempotency-conflict')
      if (first?.status === 201 && again.status === 201) expect(again.text).toBe(first.text)
      expect((await api.get<Status>('/api/v1/status')).version).toBe(version + 1)
    }
  },
  { withinMs: 120_000 },
)
