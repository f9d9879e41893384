/** Nonsense at the admin API: a problem that names what is wrong, and a configuration that did not move. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect } from 'vitest'
import type { CallOptions, Method, ProblemView } from './harness/api-client.ts'
import { claims } from './harness/claims.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { bounded } from './harness/eventually.ts'
import { entryPoint, router, service } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { RawClient } from './harness/raw-client.ts'

const { it, suite, before } = claims()
let controlPlane: ControlPlane
let untouched: unknown

before(async () => {
  controlPlane = await ControlPlane.start(suite)
  await controlPlane.api.apply(entryPoint('web'), service('s', [1]), router('r', 'r.test', 's'))
  untouched = await everything()
})

afterEach(async () => {
  expect(await everything()).toEqual(untouched)
})

async function everything(): Promise<unknown> {
  const paths = ['status', 'entry-points', 'routers', 'services', 'certificates', 'settings']
  const more = ['versions', 'join-tokens', 'nodes']
  return Promise.all([...paths, ...more].map((path) => controlPlane.api.get(`/api/v1/${path}`)))
}

interface Case {
  readonly call: readonly [Method, path: string, options?: CallOptions]
  readonly status: number
  /** Object and field that a problem must name, or a text that the answer must hold. */
  readonly names?: Partial<ProblemView> | string
}

const ROUTERS = '/api/v1/routers'
const SERVICES = '/api/v1/services'
const JSON_TYPE = { 'content-type': 'application/json' }

const newRouter = (fields: object) => ({
  body: { name: 'n', match: { hosts: ['n.test'] }, service: 's', ...fields },
})
const newService = (fields: object) => ({
  body: { name: 'n', servers: [{ url: 'http://127.0.0.1:1' }], ...fields },
})
const newMatch = (match: object) => newRouter({ match })

const CASES: Readonly<Record<string, Case>> = {
  'no token': { call: ['GET', ROUTERS, { headers: { authorization: '' } }], status: 401 },
  'a wrong token': {
    call: ['GET', ROUTERS, { headers: { authorization: 'Bearer x' } }],
    status: 401,
  },
  'a write without a token': {
    call: ['DELETE', `${ROUTERS}/r`, { headers: { authorization: '' } }],
    status: 401,
  },
  'an unknown path': { call: ['GET', '/api/v1/nothing'], status: 404 },
  'an unknown router': { call: ['GET', `${ROUTERS}/nobody`], status: 404, names: 'nobody' },
  'JSON that breaks off': { call: ['POST', ROUTERS, { bytes: '{"name": ' }], status: 400 },
  'garbage bytes': {
    call: ['POST', ROUTERS, { bytes: Buffer.from('00ff8073', 'hex') }],
    status: 400,
  },
  'no body': { call: ['POST', ROUTERS, { headers: JSON_TYPE }], status: 400 },
  'another media type': {
    call: ['POST', ROUTERS, { bytes: 'name: x', headers: { 'content-type': 'text/yaml' } }],
    status: 415,
  },
  'a list in place of an object': { call: ['POST', ROUTERS, { body: [] }], status: 400 },
  'a field that does not exist': {
    call: ['POST', ROUTERS, newRouter({ colour: 'red' })],
    status: 400,
    names: 'colour',
  },
  'a number as text': {
    call: ['POST', ROUTERS, newRouter({ priority: '1' })],
    status: 400,
    names: 'priority',
  },
  'a field left out': {
    call: ['POST', ROUTERS, { body: { name: 'n' } }],
    status: 400,
    names: 'service',
  },
  'a name with capitals': {
    call: ['POST', ROUTERS, newRouter({ name: 'Big' })],
    status: 400,
    names: 'name',
  },
  'a name that is taken': {
    call: ['POST', ROUTERS, newRouter({ name: 'r' })],
    status: 409,
    names: 'r',
  },
  'a name that differs from the path': {
    call: ['PUT', `${ROUTERS}/r`, newRouter({ name: 'other' })],
    status: 400,
    names: 'name',
  },
  'a service that does not exist': {
    call: ['POST', ROUTERS, newRouter({ service: 'ghost' })],
    status: 422,
    names: { kind: 'router', name: 'n', field: 'service' },
  },
  'an entry point that does not exist': {
    call: ['POST', ROUTERS, newRouter({ entryPoints: ['ghost'] })],
    status: 422,
    names: { kind: 'router', name: 'n', field: 'entryPoints[0]' },
  },
  'a host name that is none': {
    call: ['POST', ROUTERS, newMatch({ hosts: ['ok.test', 'not a host'] })],
    status: 422,
    names: { kind: 'router', name: 'n', field: 'match.hosts[1]' },
  },
  'a wildcard in the middle': {
    call: ['POST', ROUTERS, newMatch({ hosts: ['a.*.test'] })],
    status: 422,
    names: { field: 'match.hosts[0]' },
  },
  'a regular expression that does not compile': {
    call: ['POST', ROUTERS, newMatch({ pathRegexes: ['('] })],
    status: 422,
    names: { field: 'match.pathRegexes[0]' },
  },
  'a regular expression outside RE2': {
    call: ['POST', ROUTERS, newMatch({ pathRegexes: ['(?=a)'] })],
    status: 422,
    names: { field: 'match.pathRegexes[0]' },
  },
  'a range that is none': {
    call: ['POST', ROUTERS, newMatch({ clientRanges: ['10.0.0.0/99'] })],
    status: 422,
    names: { field: 'match.clientRanges[0]' },
  },
  'a path prefix without a slash': {
    call: ['POST', ROUTERS, newMatch({ pathPrefixes: ['api'] })],
    status: 422,
    names: { field: 'match.pathPrefixes[0]' },
  },
  'a service without servers': {
    call: ['POST', SERVICES, newService({ servers: [] })],
    status: 400,
    names: 'servers',
  },
  'a server that is no URL': {
    call: ['POST', SERVICES, newService({ servers: [{ url: 'nonsense' }] })],
    status: 422,
    names: { kind: 'service', name: 'n', field: 'servers[0].url' },
  },
  'a weight above 1000': {
    call: [
      'POST',
      SERVICES,
      newService({ servers: [{ url: 'http://127.0.0.1:1', weight: 1001 }] }),
    ],
    status: 400,
    names: 'weight',
  },
  'a time-out of nothing': {
    call: ['POST', SERVICES, newService({ timeouts: { connectMs: 0 } })],
    status: 400,
    names: 'connectMs',
  },
  'deleting a service in use': { call: ['DELETE', `${SERVICES}/s`], status: 409, names: 'r' },
  'a certificate that is no certificate': {
    call: [
      'POST',
      '/api/v1/certificates',
      { body: { name: 'c', source: 'uploaded', chainPem: 'x', privateKeyPem: 'y' } },
    ],
    status: 422,
    names: { kind: 'certificate', name: 'c', field: 'chainPem' },
  },
  'one bad resource among good ones': {
    call: [
      'POST',
      '/api/v1/apply',
      { body: { resources: [service('good', [2]), router('bad', 'b.test', 'ghost')] } },
    ],
    status: 422,
    names: { kind: 'router', name: 'bad', field: 'service' },
  },
  'a kind that does not exist': {
    call: ['POST', '/api/v1/apply', { body: { resources: [{ kind: 'gadget', name: 'g' }] } }],
    status: 400,
    names: 'kind',
  },
  'a patch that breaks a reference': {
    call: ['PATCH', `${ROUTERS}/r`, { body: { service: 'ghost' } }],
    status: 422,
    names: { kind: 'router', name: 'r', field: 'service' },
  },
  'settings out of range': {
    call: ['PUT', '/api/v1/settings', { body: { logs: { perSecondPerNode: 5000 } } }],
    status: 400,
    names: 'perSecondPerNode',
  },
  'a join token for no uses': {
    call: ['POST', '/api/v1/join-tokens', { body: { uses: 0 } }],
    status: 400,
    names: 'uses',
  },
  'revoking a node that does not exist': {
    call: ['POST', '/api/v1/nodes/ghost/revoke'],
    status: 404,
    names: 'ghost',
  },
  'a version that does not exist': { call: ['GET', '/api/v1/versions/999'], status: 404 },
  'traffic by nothing known': {
    call: ['GET', '/api/v1/analytics/traffic?by=mood'],
    status: 400,
    names: 'by',
  },
  'a range that ends before it begins': {
    call: ['GET', '/api/v1/analytics/traffic?by=node&from=2000000&to=1000000'],
    status: 400,
  },
  'a page of a million': {
    call: ['GET', '/api/v1/logs?limit=1000000'],
    status: 400,
    names: 'limit',
  },
}

for (const [name, { call, status, names }] of Object.entries(CASES)) {
  it(`${name}: ${status}, a problem that says so, and nothing changed`, async () => {
    const answer = await controlPlane.api.call(...call)
    expect(`${answer.status} ${answer.text}`).toMatch(new RegExp(`^${status} `))
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
    const problem = answer.body as { type: string; title: string; status: number; detail: string }
    expect(problem).toMatchObject({ status, type: expect.stringMatching(/^urn:sluice:problem:/) })
    expect(problem.title.length * problem.detail.length).toBeGreaterThan(0)
    if (typeof names === 'string') expect(answer.text).toContain(names)
    if (typeof names === 'object') {
      const { problems } = answer.body as { problems: ProblemView[] }
      expect(problems).toContainEqual(expect.objectContaining(names))
    }
  })
}

it('a body of 5 MiB is refused with 413 before it is sent', async (scope) => {
  const client = await RawClient.open(scope, controlPlane.adminPort)
  const fields = [
    'Host: localhost',
    `Authorization: Bearer ${controlPlane.api.token}`,
    'Content-Type: application/json',
    `Content-Length: ${5 << 20}`,
  ]
  client.send(`POST ${ROUTERS} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n{"name": "`)
  const answer = await client.answer()
  expect(statusOf(answer)).toBe(413)
  expect(JSON.parse(answer.body.toString())).toMatchObject({ status: 413 })
})

it('bytes that are not HTTP close that connection, and the API goes on', async () => {
  const socket = connect(controlPlane.adminPort, '127.0.0.1')
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.resume().write(Buffer.from('16030100ff0102030405060708090a0b', 'hex'))
  socket.write('\r\n\r\n\0\0\0\r\n\r\n')
  await bounded(closed, 5_000, 'the end of the connection')
  expect((await controlPlane.api.call('GET', '/healthz')).status).toBe(200)
})

it('a write that changes nothing publishes nothing', async () => {
  const answer = await controlPlane.api.apply(router('r', 'r.test', 's'))
  expect(answer.changes).toEqual([{ kind: 'router', name: 'r', change: 'unchanged' }])
})
