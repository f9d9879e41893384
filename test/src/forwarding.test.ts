/** What a node does to a plain request and its answer, between a raw client and a scripted origin. */
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, type Fleet, router, service, startFleet } from './harness/fleet.ts'
import { chunked, type Message, statusOf, valuesOf } from './harness/http-text.ts'
import { hashOf, pattern } from './harness/load/pattern.ts'
import { ScriptedOrigin, say } from './harness/origins/scripted-origin.ts'
import { exchange, get, RawClient } from './harness/raw-client.ts'
import { routeTo } from './harness/routes.ts'

const { it, suite, before } = claims()
let fleet: Fleet
let port: number

before(async () => {
  const trusting = entryPoint('trusting', { trustedPeers: ['127.0.0.0/8'] })
  fleet = await startFleet(suite, { resources: [trusting, entryPoint('web')] })
  port = fleet.node.port('web')
})

function fieldsOf(message: Message): string[] {
  return message.fields.map(([name, value]) => `${name.toLowerCase()}: ${value}`).toSorted()
}

it('a request reaches the origin with its own fields, without those of the hop, with X-Forwarded fields that a client cannot set', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const request = [
    'GET /a/b?x=1&y=%20 HTTP/1.1',
    `Host: ${host}`,
    'X-One: 1',
    'x-one: 2',
    'Accept: text/plain;q=0.5,  */*',
    'Connection: X-Drop, keep-alive',
    'X-Drop: 1',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: keep-alive',
    'TE: trailers, deflate',
    'Upgrade: foo',
    'X-Forwarded-For: 6.6.6.6',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Host: evil.test',
  ]
  await exchange(scope, port, `${request.join('\r\n')}\r\n\r\n`)
  const [seen] = origin.requests
  expect(seen?.startLine).toBe('GET /a/b?x=1&y=%20 HTTP/1.1')
  expect(fieldsOf(seen!)).toEqual([
    'accept: text/plain;q=0.5,  */*',
    'connection: TE',
    `host: ${host}`,
    'te: trailers',
    'x-forwarded-for: 127.0.0.1',
    `x-forwarded-host: ${host}`,
    'x-forwarded-proto: http',
    'x-one: 1',
    'x-one: 2',
  ])
})

it('X-Forwarded fields of a trusted peer are kept, and its address is added', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const fields = 'X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: w.test'
  const request = `GET / HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n\r\n`
  await exchange(scope, fleet.node.port('trusting'), request)
  const [seen] = origin.requests
  expect(valuesOf(seen!, 'x-forwarded-for').join(', ')).toBe('6.6.6.6, 127.0.0.1')
  expect(valuesOf(seen!, 'x-forwarded-proto')).toEqual(['https'])
  expect(valuesOf(seen!, 'x-forwarded-host')).toEqual(['w.test'])
})

it('a service with passHost false is sent the authority of its server as Host', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port], { service: { passHost: false } })
  await exchange(scope, port, get(host, '/'))
  expect(valuesOf(origin.requests[0]!, 'host')).toEqual([`127.0.0.1:${origin.port}`])
  expect(valuesOf(origin.requests[0]!, 'x-forwarded-host')).toEqual([host])
})

it('fields of the hop are removed from an answer, the others stay', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const fields =
    'Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nConnection: X-Drop\r\nX-Drop: 1\r\nKeep-Alive: timeout=5'
  origin.answer = say(`HTTP/1.1 201 Made up\r\n${fields}\r\nContent-Length: 2\r\n\r\nok`)
  const answer = await exchange(scope, port, get(host, '/'))
  expect(answer.startLine).toBe('HTTP/1.1 201 Made up')
  expect(fieldsOf(answer)).toEqual(['content-length: 2', 'set-cookie: a=1', 'set-cookie: b=2'])
  expect(answer.body.toString()).toBe('ok')
})

it('HEAD is answered with the length and no body, and the connection goes on', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const client = await RawClient.open(scope, port)
  client.send(`HEAD /four HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  const answer = await client.answer({ isBodiless: true })
  expect(valuesOf(answer, 'content-length')).toEqual(['5'])
  expect((await client.send(get(host, '/next')).answer()).body.toString()).toBe('/next')
})

it('a POST with a length arrives with that length and the same bytes', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const body = pattern(1, 300_000)
  const client = await RawClient.open(scope, port)
  client.send(`POST /p HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n\r\n`)
  const answer = await client.send(body).answer()
  expect(answer.body.toString()).toBe('/p')
  expect(valuesOf(origin.requests[0]!, 'content-length')).toEqual([String(body.length)])
  expect(hashOf(origin.requests[0]!.body)).toBe(hashOf(body))
})

it('a POST in chunks arrives in chunks with the same bytes, and with no second framing', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const text = 'the same bytes, however they were cut'
  const head = `POST /c HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`
  await exchange(scope, port, head + chunked(text, 3))
  const [seen] = origin.requests
  expect(seen?.framing).toBe('chunked')
  expect(valuesOf(seen!, 'content-length')).toEqual([])
  expect(seen?.body.toString()).toBe(text)
})

it('an answer in chunks keeps its bytes, also when each byte comes alone', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const bytes = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunked('abc', 1)}`
  origin.answer = ({ connection: { socket } }) => {
    const next = (at: number) => {
      if (at < bytes.length) socket.write(bytes.charAt(at), () => setImmediate(next, at + 1))
    }
    next(0)
  }
  const client = await RawClient.open(scope, port)
  const answer = await client.send(get(host, '/1')).answer()
  expect(answer.body.toString()).toBe('abc')
  expect((await client.send(get(host, '/2')).answer()).body.toString()).toBe('abc')
  expect(origin.connections).toHaveLength(1)
})

it('an answer that ends with its connection arrives whole', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  origin.answer = say('HTTP/1.1 200 OK\r\n\r\nuntil the end', 'end')
  const answer = await exchange(scope, port, get(host, '/'))
  expect(answer.body.toString()).toBe('until the end')
  // A client must be able to tell this from an answer that was cut off.
  expect(answer.framing).toBe('chunked')
})

it('answers 204 and 304 have no body, and the next answer on the connection is its own', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const client = await RawClient.open(scope, port)
  for (const head of [
    'HTTP/1.1 204 No Content',
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 99',
  ]) {
    origin.answer = say(`${head}\r\n\r\n`)
    const answer = await client.send(get(host, '/')).answer()
    expect(`${answer.startLine}|${answer.body}`).toBe(`${head.split('\r\n')[0]}|`)
  }
  origin.answer = say('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
  expect((await client.send(get(host, '/')).answer()).body.toString()).toBe('ok')
  expect(origin.connections).toHaveLength(1)
})

it('requests on one connection use one connection to the origin', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const client = await RawClient.open(scope, port)
  for (let index = 0; index < 10; index += 1) {
    expect((await client.send(get(host, `/${index}`)).answer()).body.toString()).toBe(`/${index}`)
  }
  expect(origin.connections).toHaveLength(1)
})

it('pipelined requests are answered in order, bodies and all', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const client = await RawClient.open(scope, port)
  const posted = `POST /2 HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\n\r\nbody`
  const inChunks = `POST /3 HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`
  const nowhere = get('nowhere.test', '/4')
  client.send(
    get(host, '/1') + posted + inChunks + chunked('in chunks') + nowhere + get(host, '/5'),
  )
  const answers = []
  for (let index = 0; index < 5; index += 1) answers.push(await client.answer())
  expect(answers.map(statusOf)).toEqual([200, 200, 200, 404, 200])
  const bodies = answers.filter((one) => statusOf(one) === 200).map((one) => one.body.toString())
  expect(bodies).toEqual(['/1', '/2', '/3', '/5'])
  expect(origin.requests.map((one) => `${one.target} ${one.body}`)).toEqual([
    '/1 ',
    '/2 body',
    '/3 in chunks',
    '/5 ',
  ])
})

it('an HTTP/1.0 client gets an answer without chunks, and the end of the connection', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  origin.answer = say(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunked('plain')}`)
  const client = await RawClient.open(scope, port)
  client.send(`GET / HTTP/1.0\r\nHost: ${host}\r\n\r\n`)
  await client.untilEnded()
  const answer = await client.answer()
  expect(valuesOf(answer, 'transfer-encoding')).toEqual([])
  expect(answer.body.toString()).toBe('plain')
  expect(origin.requests[0]?.startLine).toBe('GET / HTTP/1.1')
})

it('a client that asks to close gets its answer and then the end', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const client = await RawClient.open(scope, port)
  client.send(`GET /last HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  const answer = await client.answer()
  expect(valuesOf(answer, 'connection')).toEqual(['close'])
  await client.untilEnded()
})

it('a client that has shut its sending side still gets its answer', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const client = await RawClient.open(scope, port)
  client.send(get(host, '/half')).end()
  expect((await client.answer()).body.toString()).toBe('/half')
})

it('a request that no router takes is answered 404 in short plain text, and the connection goes on', async (scope) => {
  const client = await RawClient.open(scope, port)
  for (let index = 0; index < 2; index += 1) {
    const answer = await client.send(get('nobody.test', '/')).answer()
    expect(statusOf(answer)).toBe(404)
    expect(valuesOf(answer, 'content-type')[0]).toMatch(/^text\/plain/)
    expect(answer.body.length).toBeLessThan(200)
  }
})

it('an exact host wins over a wildcard, a longer path prefix over a shorter one, at segment borders', async (scope) => {
  const [exact, wild, api, deep] = await Promise.all(
    Array.from({ length: 4 }, () => ScriptedOrigin.start(scope)),
  )
  const named = { exact, wild, api, deep }
  const body = (name: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${name.length}\r\n\r\n${name}`
  for (const [name, origin] of Object.entries(named)) origin!.answer = say(body(name))
  await fleet.publish(
    ...Object.entries(named).map(([name, origin]) => service(`prec-${name}`, [origin!.port])),
    router('prec-exact', 'x.prec.test', 'prec-exact'),
    router('prec-wild', '*.prec.test', 'prec-wild'),
    router('prec-api', '', 'prec-api', {
      match: { hosts: ['x.prec.test'], pathPrefixes: ['/api'] },
    }),
    router('prec-deep', '', 'prec-deep', {
      match: { hosts: ['x.prec.test'], pathPrefixes: ['/api/deep'] },
    }),
  )
  const table = {
    'x.prec.test/': 'exact',
    'y.prec.test/': 'wild',
    'y.prec.test/api': 'wild',
    'x.prec.test/api': 'api',
    'x.prec.test/api/x': 'api',
    'x.prec.test/apix': 'exact',
    'x.prec.test/api/deep/er?q': 'deep',
    'X.PREC.TEST/api/deeper': 'api',
  }
  const seen: Record<string, string> = {}
  for (const place of Object.keys(table)) {
    const [host = '', path] = place.split(/(?=\/)(.*)/)
    seen[place] = (await exchange(scope, port, get(host, path ?? '/'))).body.toString()
  }
  expect(seen).toEqual(table)
})

it('requests go to the servers of a service in turn, by weight', async (scope) => {
  const [one, two, none] = await Promise.all(
    Array.from({ length: 3 }, () => ScriptedOrigin.start(scope)),
  )
  const servers = [
    { url: `http://127.0.0.1:${one!.port}`, weight: 1 },
    { url: `http://127.0.0.1:${two!.port}`, weight: 2 },
    { url: `http://127.0.0.1:${none!.port}`, weight: 0 },
  ]
  const host = await routeTo(fleet, [], { service: { servers } })
  const client = await RawClient.open(scope, port)
  for (let index = 0; index < 30; index += 1) await client.send(get(host, '/')).answer()
  expect([one, two, none].map((origin) => origin!.requests.length)).toEqual([10, 20, 0])
})

it('an origin that does not read stops the client, and gets every byte once it reads', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const parts = Array.from({ length: 8 }, (_, index) => pattern(index * 1000, 8 << 20))
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  origin.onConnection = ({ socket }) => socket.pause()
  const client = await RawClient.open(scope, port)
  client.send(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${length}\r\n\r\n`)
  for (const part of parts) client.send(part)
  const taken = await stillAt(() => client.socket.bytesWritten - client.socket.writableLength)
  expect(taken).toBeLessThan(length / 2)
  const { socket, record } = origin.connections[0]!
  socket.resume()
  await eventually(() => record.length > length && bodyIn(record.bytes).length >= length, {
    withinMs: 30_000,
    that: 'every byte at the origin',
  })
  expect(hashOf(bodyIn(record.bytes))).toBe(hashOf(Buffer.concat(parts)))
})

it('a client that does not read stops the origin, and gets every byte once it reads', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const host = await routeTo(fleet, [origin.port])
  const parts = Array.from({ length: 8 }, (_, index) => pattern(index * 1000, 8 << 20))
  const body = Buffer.concat(parts)
  origin.answer = ({ connection: { socket } }) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`)
    socket.write(body)
  }
  const client = await RawClient.open(scope, port)
  client.socket.pause()
  client.send(get(host, '/'))
  await origin.untilRequests(1)
  const { socket } = origin.connections[0]!
  const taken = await stillAt(() => socket.bytesWritten - socket.writableLength)
  expect(taken).toBeLessThan(body.length / 2)
  client.socket.resume()
  expect(hashOf((await client.answer({ withinMs: 30_000 })).body)).toBe(hashOf(body))
})

/** What follows the head of the first message. */
function bodyIn(bytes: Buffer): Buffer {
  return bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)
}

/** The value at which a figure has come to rest: unchanged over many looks in a row. */
async function stillAt(figure: () => number): Promise<number> {
  let last = figure()
  let looks = 0
  await eventually(
    () => {
      looks = figure() === last && last > 0 ? looks + 1 : 0
      last = figure()
      return looks >= 25
    },
    { withinMs: 20_000, that: 'a figure at rest' },
  )
  return last
}
