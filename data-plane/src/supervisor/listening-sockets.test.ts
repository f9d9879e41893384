import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { parseAddress } from './address.ts'
import { EntryPointSockets } from './entry-point-sockets.ts'
import { assertRuntimeCanListen, openListeningSocket } from './listening-sockets.ts'

it('runs on this Node', () => {
  expect(assertRuntimeCanListen).not.toThrow()
})

it.each([
  ['127.0.0.1:0', /^127\.0\.0\.1:\d+$/],
  ['[::1]:0', /^\[::1\]:\d+$/],
  ['localhost:0', /^(127\.0\.0\.1|\[::1\]):\d+$/],
  [':0', /^(\[::\]|0\.0\.0\.0):\d+$/],
])('binds %s', async (asked, bound) => {
  const outcome = await openListeningSocket(asked)
  if (outcome.kind === 'failed') throw new Error(outcome.reason)
  expect(outcome.socket.address).toMatch(bound)
  outcome.socket.close()
})

it.each([
  ['nonsense', /is not HOST:PORT/],
  ['127.0.0.1:99999', /is not HOST:PORT/],
  ['192.0.2.1:80', /is not an address of this machine \(EADDRNOTAVAIL\)/],
  ['no-such-name.invalid:80', /cannot be resolved/],
])('says why it cannot bind %s', async (asked, reason) => {
  expect(await openListeningSocket(asked)).toMatchObject({
    kind: 'failed',
    reason: expect.stringMatching(reason),
  })
})

it('says that a port is taken', async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve))
  const bound = taken.address()
  const port = typeof bound === 'object' ? bound?.port : 0
  expect(await openListeningSocket(`127.0.0.1:${port}`)).toMatchObject({
    kind: 'failed',
    reason: `127.0.0.1:${port} is already in use by another process (EADDRINUSE)`,
  })
  taken.close()
})

it.each([
  ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
  ['[2001:db8::1]:443', { host: '2001:db8::1', port: 443 }],
  [':8080', { host: '', port: 8080 }],
  ['2001:db8::1:443', undefined],
  ['host', undefined],
  ['host:', undefined],
  ['host:65536', undefined],
  ['ho st:80', undefined],
])('reads the address %s', (text, address) => {
  expect(parseAddress(text)).toEqual(address)
})

function web(address: string, name = 'web') {
  return { name, address, protocol: 'http' }
}

it('keeps the socket of an address that stays, even under another name', async () => {
  const sockets = new EntryPointSockets({})
  const first = await sockets.plan([web('127.0.0.1:0')])
  if (first.kind === 'failed') throw new Error('not planned')
  sockets.commit(first.plan)
  const second = await sockets.plan([web('127.0.0.1:0', 'renamed')])
  if (second.kind === 'failed') throw new Error('not planned')
  expect(second.plan.opened).toEqual([])
  sockets.commit(second.plan)
  expect(sockets.addresses()).toEqual([{ name: 'renamed', address: first.plan.opened[0]?.address }])
  sockets.close()
})

it('refuses two entry points on one address', async () => {
  const sockets = new EntryPointSockets({})
  const free = await openListeningSocket('127.0.0.1:0')
  if (free.kind === 'failed') throw new Error(free.reason)
  const { address } = free.socket
  free.socket.close()
  expect(await sockets.plan([web(address), web(address, 'other')])).toMatchObject({
    kind: 'failed',
    problems: [{ object: { name: 'other' }, field: 'address' }],
  })
})
