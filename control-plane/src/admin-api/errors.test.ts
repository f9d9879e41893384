import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RunningControlPlane } from './testing/running-control-plane.ts'

let api: RunningControlPlane

beforeAll(async () => {
  api = await RunningControlPlane.start()
})

afterAll(async () => {
  // Nothing that clients did wrong changed anything or was logged as our own failure.
  expect(await api.version()).toBe(0)
  expect(api.log).not.toContain('request failed')
  await api.remove()
})

const service = { name: 's', servers: [{ url: 'http://h:1' }] }

describe('the token', () => {
  it.each([
    ['none', null],
    ['a wrong one', 'wrong'],
    ['an empty one', ''],
  ])('%s is answered with 401 and how to authenticate', async (_what, token) => {
    for (const path of ['/api/v1/status', '/api/v1/routers', '/api/v1/unknown']) {
      const answer = await api.send('GET', path, undefined, { token })
      expect([answer.status, answer.contentType, answer.headers['www-authenticate']]).toEqual([
        401,
        'application/problem+json; charset=utf-8',
        'Bearer realm="sluice"',
      ])
      expect(answer.body).toMatchObject({
        type: 'urn:sluice:problem:unauthorized',
        status: 401,
        instance: path,
      })
    }
  })

  it('is not taken by another scheme, nor with something behind it', async () => {
    for (const authorization of [`Basic ${api.token}`, `Bearer ${api.token}x`, api.token]) {
      const sent = { token: null, headers: { authorization } }
      expect((await api.send('GET', '/api/v1/status', undefined, sent)).status).toBe(401)
    }
  })

  it('is looked at before the body', async () => {
    const answer = await api.send('POST', '/api/v1/services', '{', { token: 'wrong' })
    expect(answer.status).toBe(401)
  })

  it.each(['/healthz', '/api/openapi.json', '/api/docs'])('is not needed for %s', async (path) => {
    expect((await api.send('GET', path, undefined, { token: null })).status).toBe(200)
  })
})

describe('a request that is no good', () => {
  it.each([
    ['cut-off JSON', '{"name":', {}, 400, 'malformed-request'],
    ['a text', '"x"', {}, 400, 'malformed-request'],
    ['null', 'null', {}, 400, 'malformed-request'],
    ['an empty body', '', {}, 400, 'malformed-request'],
    ['a prototype', '{"__proto__":{"name":"s"}}', {}, 400, 'malformed-request'],
    ['bytes that are no UTF-8 text', '{"name":"\u0000"}', {}, 400, 'malformed-request'],
    ['another type', 'name: s', { 'content-type': 'text/yaml' }, 415, 'unsupported-media-type'],
    ['plain text', '{}', { 'content-type': 'text/plain' }, 415, 'unsupported-media-type'],
    ['5 MiB', `"${'x'.repeat(5 * 1_048_576)}"`, {}, 413, 'too-large'],
  ])('with %s as its body', async (_what, body, headers, status, slug) => {
    const answer = await api.send('POST', '/api/v1/services', body, { headers })
    expect([answer.status, answer.contentType, answer.body.type]).toEqual([
      status,
      'application/problem+json; charset=utf-8',
      `urn:sluice:problem:${slug}`,
    ])
    expect(answer.body).toMatchObject({
      title: expect.any(String),
      status,
      detail: expect.stringMatching(/\S/),
      instance: '/api/v1/services',
    })
    expect(answer.text).not.toMatch(/\bat .*\.[jt]s|node_modules|stack/)
  })

  it('names the field of a value of the wrong type', async () => {
    const answer = await api.post('/services', { ...service, passHost: 'yes' })
    expect(answer.body).toMatchObject({
      detail: 'passHost must be a boolean',
      problems: [{ kind: 'service', name: 's', field: 'passHost', reason: 'must be a boolean' }],
    })
  })

  it.each([
    ['GET', '/api/v1/unknown'],
    ['GET', '/api/v1'],
    ['POST', '/api/v1/status'],
    ['DELETE', '/api/v1/settings'],
    ['GET', '/api/v2/status'],
    ['GET', '/unknown'],
  ])('to %s %s gets a 404 problem', async (method, path) => {
    const answer = await api.send(method, path)
    expect([answer.status, answer.body]).toEqual([
      404,
      {
        type: 'urn:sluice:problem:not-found',
        title: 'Not found',
        status: 404,
        detail: `there is no ${method} ${path}`,
        instance: path,
      },
    ])
  })

  it('with a path that cannot be decoded gets a 400 problem', async () => {
    const answer = await api.send('GET', '/api/v1/routers/%ff%')
    expect([answer.status, answer.contentType]).toEqual([
      400,
      'application/problem+json; charset=utf-8',
    ])
  })

  it.each(['x'.repeat(300), '..%2f..%2fetc', "'; drop table version; --", '%00'])(
    'for the name "%s" finds nothing',
    async (name) => {
      const answer = await api.send('GET', `/api/v1/routers/${encodeURI(name)}`)
      expect([400, 404, 414]).toContain(answer.status)
      expect(answer.contentType).toBe('application/problem+json; charset=utf-8')
    },
  )
})

describe('bytes that are no request', () => {
  async function sendBytes(bytes: string): Promise<string> {
    const { hostname, port } = new URL(api.origin)
    const socket = connect(Number(port), hostname)
    socket.end(bytes)
    return await text(socket)
  }

  it('get a 400 problem and the end of the connection', async () => {
    const answer = await sendBytes('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(answer).toContain('content-type: application/problem+json')
    expect(answer).toContain('connection: close')
  })

  it('get 431 when they are a head without end', async () => {
    const head = `GET / HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`
    expect(await sendBytes(head)).toMatch(/^HTTP\/1\.1 431 /)
  })
})

describe('a time or step that is no good', () => {
  it.each([
    ['/analytics/traffic', 'by'],
    ['/analytics/traffic?by=colour', 'by'],
    ['/analytics/traffic?by=node&from=yesterday', 'from'],
    ['/analytics/traffic?by=node&from=2026-02-30T00:00:00', 'from'],
    ['/analytics/traffic?by=node&from=2000&to=1000', 'to'],
    ['/analytics/traffic?by=node&step=30s', 'step'],
    ['/analytics/traffic?by=node&step=0m', 'step'],
    ['/analytics/traffic?by=node&colour=red', 'colour'],
    ['/logs?limit=1001', 'limit'],
    ['/logs?before=nonsense', 'before'],
    ['/logs?status=ok', 'status'],
    ['/versions/0', 'number'],
    ['/versions/x', 'number'],
  ])('%s is refused for "%s"', async (path, field) => {
    const answer = await api.get(path)
    expect([answer.status, answer.body.problems]).toMatchObject([400, [{ field }]])
  })
})
