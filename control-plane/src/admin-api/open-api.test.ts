import { readFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeChain } from '../certificates/testing/make-certificate.ts'
import { type ApiAnswer, RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane
let document: {
  paths: Record<string, Record<string, { responses: Record<string, { content?: object }> }>>
}

beforeAll(async () => {
  api = await RunningControlPlane.start()
  document = (await api.send('GET', '/api/openapi.json')).body
})

afterAll(() => api.remove())

it('is what openapi.json holds (npm run -w @sluice/control-plane openapi)', async () => {
  const file = new URL('../../openapi.json', import.meta.url)
  const written = JSON.parse(await readFile(file, 'utf8'))
  // The version in it is that of the package, which the control plane of these tests does not have.
  const info = { ...written.info, version: '0.0.0' }
  expect({ ...written, info }).toEqual(document)
})

it('describes every answer as it is', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema(document, 'api')
  const seen = new Set<string>()
  const expectDescribed = (method: string, template: string, answer: ApiAnswer) => {
    const escapePart = (text: string) => text.replaceAll('~', '~0').replaceAll('/', '~1')
    const media = answer.contentType.split(';')[0] ?? ''
    const place = `${method} ${template} ${answer.status}`
    seen.add(`${method} ${template}`)
    const operation = document.paths[template]?.[method]
    expect([place, Object.keys(operation?.responses ?? {})]).toEqual([
      place,
      expect.arrayContaining([String(answer.status)]),
    ])
    if (answer.status === 204) return
    const path = ['paths', template, method, 'responses', String(answer.status), 'content', media]
    const validate = ajv.getSchema(
      `api#/${[...path, 'schema'].map(escapePart).map(encodeURIComponent).join('/')}`,
    )
    expect([place, validate?.(answer.body ?? answer.text), validate?.errors ?? null]).toEqual([
      place,
      true,
      null,
    ])
  }
  const call = async (method: string, path: string, body?: unknown, template = path) => {
    const answer = await api.send(method.toUpperCase(), path, body)
    expectDescribed(method, template, answer)
    return answer
  }
  const v1 = '/api/v1'
  const { chainPem, privateKeyPem } = await makeChain(['a.example'])
  const bodies = {
    services: { name: 'x', servers: [{ url: 'http://h:1' }] },
    'entry-points': { name: 'x', address: ':1', protocol: 'http' },
    routers: { name: 'x', service: 'x' },
    certificates: { name: 'x', source: 'uploaded', chainPem, privateKeyPem },
  }
  for (const [path, body] of Object.entries(bodies)) {
    const one = `${v1}/${path}/{name}`
    await call('post', `${v1}/${path}`, body)
    await call('post', `${v1}/${path}`, body)
    await call('post', `${v1}/${path}`, {})
    await call('get', `${v1}/${path}`)
    await call('get', `${v1}/${path}/x`, undefined, one)
    await call('get', `${v1}/${path}/y`, undefined, one)
    await call('put', `${v1}/${path}/x`, body, one)
    await call('patch', `${v1}/${path}/x`, {}, one)
  }
  await call('delete', `${v1}/services/x`, undefined, `${v1}/services/{name}`)
  for (const path of Object.keys(bodies).toReversed()) {
    await call('delete', `${v1}/${path}/x`, undefined, `${v1}/${path}/{name}`)
  }
  await call('get', `${v1}/settings`)
  await call('put', `${v1}/settings`, {})
  await call('post', `${v1}/apply`, { resources: [{ kind: 'settings' }] })
  await call('post', `${v1}/apply`, { resources: [{ kind: 'router', name: 'r', service: 's' }] })
  await call('post', `${v1}/plan`, { resources: [{ kind: 'router', name: 'r', service: 's' }] })
  await call('post', `${v1}/plan`, { resources: [{ kind: 'service', ...bodies.services }] })
  await call('get', `${v1}/versions/2/diff/4`, undefined, `${v1}/versions/{number}/diff/{other}`)
  await call('post', `${v1}/versions/2/rollback`, undefined, `${v1}/versions/{number}/rollback`)
  await call(
    'put',
    `${v1}/services/x?draft=d`,
    { ...bodies.services, queueMax: 9 },
    `${v1}/services/{name}`,
  )
  await call('get', `${v1}/drafts`)
  const draft = `${v1}/drafts/{name}`
  await call('get', `${v1}/drafts/d`, undefined, draft)
  await call('post', `${v1}/drafts/d/validate`, undefined, `${draft}/validate`)
  await call('post', `${v1}/drafts/d/publish`, undefined, `${draft}/publish`)
  await call('delete', `${v1}/drafts/d`, undefined, draft)
  const stale = { headers: { 'if-match': '"x"' } }
  const refused = await api.send('PUT', `${v1}/services/x`, bodies.services, stale)
  expectDescribed('put', `${v1}/services/{name}`, refused)
  await call('get', `${v1}/export`)
  const imported = { headers: { 'content-type': 'application/yaml' } }
  for (const text of ['kind: settings', 'kind: [', 'kind: service\nname: s\n']) {
    expectDescribed('post', `${v1}/import`, await api.send('POST', `${v1}/import`, text, imported))
  }
  await call('post', `${v1}/explain`, { url: 'http://a.example/' })
  await call('post', `${v1}/explain`, { url: 'http://a.example/', version: 99 })
  await call('post', `${v1}/explain`, { url: 'ftp://a' })
  await call('get', `${v1}/versions`)
  await call('get', `${v1}/versions/1`, undefined, `${v1}/versions/{number}`)
  const { body: created } = await call('post', `${v1}/join-tokens`, { labels: { a: 'b' } })
  await call('get', `${v1}/join-tokens`)
  await call('delete', `${v1}/join-tokens/${created.id}`, undefined, `${v1}/join-tokens/{id}`)
  await call('post', `${v1}/node-bundles`, { name: 'edge' })
  await call('post', `${v1}/node-bundles`, { name: '-' })
  await call('get', `${v1}/nodes`)
  await call('get', `${v1}/nodes/x`, undefined, `${v1}/nodes/{node}`)
  await call('post', `${v1}/nodes/x/revoke`, undefined, `${v1}/nodes/{node}/revoke`)
  await call('post', `${v1}/nodes/x/drain`, undefined, `${v1}/nodes/{node}/drain`)
  await call('post', `${v1}/nodes/x/undrain`, undefined, `${v1}/nodes/{node}/undrain`)
  await call('get', `${v1}/history`)
  await call('post', `${v1}/history/accept`)
  await call('get', `${v1}/stages`)
  for (const decision of ['promote', 'withdraw', 'pause', 'resume']) {
    await call('post', `${v1}/stages/open/${decision}`)
  }
  await call('get', `${v1}/analytics/traffic?by=node`, undefined, `${v1}/analytics/traffic`)
  await call('get', `${v1}/analytics?by=node&by=status&step=auto`, undefined, `${v1}/analytics`)
  await call('get', `${v1}/analytics?by=weather`, undefined, `${v1}/analytics`)
  await call('get', `${v1}/analytics/columns`)
  await call(
    'get',
    `${v1}/analytics/columns?measure=p99Ms&step=5s`,
    undefined,
    `${v1}/analytics/columns`,
  )
  await call('get', `${v1}/analytics/heatmap`)
  await call('get', `${v1}/logs`)
  await call('get', `${v1}/logs/export`)
  await call('post', `${v1}/logs/raise`, { perSecond: 200, seconds: 60 })
  await call('post', `${v1}/logs/raise`, { perSecond: 200, seconds: 60, node: 'x' })
  await call('get', `${v1}/logs/raise`)
  await call('delete', `${v1}/logs/raise`)
  await call('get', `${v1}/logs/export?status=9xx`, undefined, `${v1}/logs/export`)
  await call('get', `${v1}/logs/follow?status=9xx`, undefined, `${v1}/logs/follow`)
  await call('post', `${v1}/master-key/rotate`)
  await call('get', `${v1}/status`)
  await call('post', `${v1}/session`, { token: 'wrong' })
  await call('get', `${v1}/session`)
  await call('delete', `${v1}/session`)
  await call('post', `${v1}/session/password`, { current: 'x', next: 'y' })
  const factor = `${v1}/session/second-factor`
  await call('post', `${factor}/new`)
  await call('post', factor, { password: 'x', secret: 'X', code: '123456' })
  await call('post', `${factor}/remove`, { password: 'x' })
  await call('get', `${v1}/sessions`)
  await call('delete', `${v1}/sessions/x`, undefined, `${v1}/sessions/{id}`)
  await call('get', `${v1}/audit?result=done`, undefined, `${v1}/audit`)
  await call('get', `${v1}/audit?result=maybe`, undefined, `${v1}/audit`)
  await call('get', `${v1}/audit/export`)
  await call('get', `${v1}/audit/verify`)
  const apiToken = { name: 't', role: 'viewer' }
  const scope = { kinds: ['router'], access: 'read', selector: { team: 'a' } }
  await call('post', `${v1}/api-tokens`, { ...apiToken, scopes: [scope] })
  await call('post', `${v1}/api-tokens`, apiToken)
  await call('post', `${v1}/api-tokens`, { ...apiToken, role: 'root' })
  await call('get', `${v1}/api-tokens`)
  for (const _ of ['revoked', 'unknown']) {
    await call('delete', `${v1}/api-tokens/t`, undefined, `${v1}/api-tokens/{name}`)
  }
  const user = `${v1}/users/{name}`
  await call('post', `${v1}/users`, { name: 'u', role: 'viewer', password: 'long enough' })
  await call('post', `${v1}/users`, { name: 'u', role: 'viewer', password: 'long enough now' })
  await call('get', `${v1}/users`)
  await call('get', `${v1}/users/u`, undefined, user)
  await call('patch', `${v1}/users/u`, { role: 'editor' }, user)
  await call('delete', `${v1}/users/u`, undefined, user)
  await call('delete', `${v1}/users/u`, undefined, user)
  const stranger = await api.send('GET', `${v1}/events`, undefined, { token: 'wrong' })
  expectDescribed('get', `${v1}/events`, stranger)
  await call('get', '/healthz')
  const described = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  )
  expect([...seen].toSorted()).toEqual(described.toSorted())
})

it('can be browsed', async () => {
  const page = await api.send('GET', '/api/docs/', undefined, { token: null })
  expect([page.status, page.contentType]).toEqual([200, 'text/html; charset=utf-8'])
})
