import { BlockList } from 'node:net'
import { describe, expect, it } from 'vitest'
import {
  encodeEntryPoint,
  encodeRouter,
  encodeService,
  encodeSettings,
} from '../testing/resources.ts'
import { Scene, statusOf } from '../testing/scene.ts'
import { clientAddressOf } from './exchange/forwarding-fields.ts'

const scene = new Scene()

const TRUSTED = ['127.0.0.0/8', '10.0.0.0/8', '2001:db8::/32']

/** What reaches the server of the forwarding fields, one line each. */
async function forwarded(
  trustedPeers: string[],
  lines: string,
  host = 'a.test',
): Promise<string[]> {
  const server = await scene.origin()
  const { port } = scene.serve([server.port], {}, { trustedPeers })
  await scene.ask(port, `GET / HTTP/1.1\r\nHost: ${host}\r\n${lines}\r\n`)
  const head = server.requests[0]?.head ?? ''
  return head.split('\r\n').filter((line) => /^(x-forwarded|x-real|forwarded)/i.test(line))
}

describe('an untrusted peer', () => {
  it.each([
    ['nothing', ''],
    ['one address', 'X-Forwarded-For: 1.1.1.1\r\n'],
    ['two lines', 'X-Forwarded-For: 1.1.1.1\r\nx-forwarded-for: 2.2.2.2\r\n'],
    ['an empty line', 'X-Forwarded-For:\r\n'],
    ['a list', 'X-Forwarded-For: 1.1.1.1, 2.2.2.2\r\n'],
    [
      'all the others',
      'X-Real-Ip: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b.test\r\nX-Forwarded-Port: 1\r\n' +
        'X-Forwarded-Prefix: /x\r\nX-Forwarded-Server: y\r\nForwarded: for=1.1.1.1\r\n',
    ],
  ])('that claims %s has only its own address passed on', async (_name, lines) => {
    expect(await forwarded([], lines)).toEqual([
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Proto: http',
      'X-Forwarded-Host: a.test',
    ])
  })
})

describe('a trusted peer', () => {
  it('has its lists joined and extended, and its word on the rest kept', async () => {
    const lines =
      'X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b.test\r\nX-Forwarded-Port: 1\r\n' +
      'X-Forwarded-For:\r\nX-Forwarded-Prefix: /x\r\nX-Forwarded-For: [2001:db8::1]:80\r\n' +
      'Forwarded: for=1.1.1.1\r\nForwarded: for="_x"\r\n'
    expect(await forwarded(TRUSTED, lines)).toEqual([
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: b.test',
      'X-Forwarded-Port: 1',
      'X-Forwarded-Prefix: /x',
      'X-Forwarded-For: 1.1.1.1, [2001:db8::1]:80, 127.0.0.1',
      'Forwarded: for=1.1.1.1, for="_x", for=127.0.0.1;proto=http;host=a.test',
    ])
  })

  it('that says nothing is reported like any other', async () => {
    expect(await forwarded(TRUSTED, '')).toEqual([
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Proto: http',
      'X-Forwarded-Host: a.test',
    ])
  })

  it('cannot hide our element of Forwarded in an open quote, nor break it with a port', async () => {
    const lines = 'Forwarded: for="1.1.1.1\\"\r\n'
    expect((await forwarded(TRUSTED, lines, 'a.test:81')).at(-1)).toBe(
      'Forwarded: for=127.0.0.1;proto=http;host="a.test:81"',
    )
  })

  it('cannot take away what it said by naming it in Connection', async () => {
    const lines =
      'X-Forwarded-Proto: https\r\nConnection: x-forwarded-proto, x-forwarded-for\r\nX-Forwarded-For: 1.1.1.1\r\n'
    expect(await forwarded(TRUSTED, lines)).toEqual([
      'X-Forwarded-Proto: https',
      'X-Forwarded-For: 1.1.1.1, 127.0.0.1',
      'X-Forwarded-Host: a.test',
    ])
  })

  it('names the client that client ranges and log lines have, until a version trusts it no more', async () => {
    const server = await scene.origin()
    const resources = (trustedPeers: string[]) => [
      encodeEntryPoint('web', { trustedPeers }),
      encodeRouter('r', 's', { clientRanges: ['6.6.6.6/32'] }),
      encodeService('s', [server.port]),
      encodeSettings(10),
    ]
    const started = scene.serveResources(resources(TRUSTED))
    const client = await scene.client(started.port)
    const request = 'GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 6.6.6.6, 10.0.0.1\r\n\r\n'
    expect(statusOf(await client.answerTo(request))).toBe(200)
    const version = { kind: 'configure', version: 2n, hash: '', removed: [] } as const
    started.worker.configure({ ...version, resources: resources([]) })
    expect(statusOf(await client.answerTo(request))).toBe(404)
    const reports = await started.stop()
    const lines = reports.flatMap(({ logs }) => logs.ordinary.lines)
    expect(lines.map((line) => line.clientAddress).sort()).toEqual(['127.0.0.1', '6.6.6.6'])
  })
})

describe('the client behind trusted peers', () => {
  const trusted = new BlockList()
  trusted.addSubnet('10.0.0.0', 8, 'ipv4')
  trusted.addSubnet('2001:db8::', 32, 'ipv6')

  it.each([
    ['', '10.0.0.9'],
    ['1.1.1.1', '1.1.1.1'],
    ['1.1.1.1, 2.2.2.2', '2.2.2.2'],
    ['1.1.1.1, 2.2.2.2, 10.0.0.1', '2.2.2.2'],
    ['1.1.1.1,10.0.0.1 ,\t10.0.0.2', '1.1.1.1'],
    ['10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['1.1.1.1, , 10.0.0.1,', '1.1.1.1'],
    ['1.1.1.1:8080', '1.1.1.1'],
    ['2001:db9::1', '2001:db9::1'],
    ['[2001:db9::1]:443, [2001:db8::1]', '2001:db9::1'],
    ['::ffff:1.1.1.1, ::ffff:10.0.0.1', '1.1.1.1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['1.1.1.1, unknown', '10.0.0.9'],
    ['1.1.1.1, _hidden, 10.0.0.1', '10.0.0.1'],
    ['1.1.1.1, 2.2.2.2:x', '10.0.0.9'],
    ['1.1.1.1, [2.2.2.2]', '10.0.0.9'],
    ['1.1.1.1, [2001:db9::1]x', '10.0.0.9'],
    ['1.1.1.1, "2.2.2.2"', '10.0.0.9'],
    [`1.1.1.1, ${'10.0.0.1, '.repeat(100)}10.0.0.2`, '10.0.0.1'],
  ])('in %j is %s', (list, client) => {
    expect(clientAddressOf(list, '10.0.0.9', trusted)).toBe(client)
  })
})
