import { describe, expect, it } from 'vitest'
import { type Endpoints, type Transport, WriteResult } from '../transport/transport.ts'
import { readProxyHeader } from './read-header.ts'
import { proxyHeader } from './write-header.ts'

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'
const V4 = { source: '1.2.3.4', destination: '5.6.7.8' }
const V6 = { source: '2001:db8::1', destination: '2001:db8:0:1::' }

function bytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

function ends(addresses: { source: string; destination: string }): Endpoints {
  return {
    sourceAddress: addresses.source,
    sourcePort: 65_535,
    destinationAddress: addresses.destination,
    destinationPort: 80,
  }
}

function binary(command: string, family: string, body: string): string {
  const length = String.fromCharCode(body.length >> 8, body.length & 0xff)
  return `${SIGNATURE}${command}${family}${length}${body}`
}

const V4_BODY = '\x01\x02\x03\x04\x05\x06\x07\x08\xff\xff\x00\x50'
const V6_BODY =
  '\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x20\x01\x0d\xb8\0\0\0\x01\0\0\0\0\0\0\0\0\xff\xff\x00\x50'
const MAPPED = `${'\0'.repeat(10)}\xff\xff\x01\x02\x03\x04${'\0'.repeat(10)}\xff\xff\x05\x06\x07\x08\xff\xff\x00\x50`

const whole: [string, string, Endpoints | undefined][] = [
  ['v1 of IPv4', 'PROXY TCP4 1.2.3.4 5.6.7.8 65535 80\r\n', ends(V4)],
  ['v1 of IPv6', 'PROXY TCP6 2001:DB8:0::1 2001:db8:0:1:0:0:0:0 65535 80\r\n', ends(V6)],
  ['v1 of IPv4 in IPv6', 'PROXY TCP6 ::ffff:1.2.3.4 ::ffff:506:708 65535 80\r\n', ends(V4)],
  ['v1 unknown', 'PROXY UNKNOWN\r\n', undefined],
  ['v1 unknown with more', 'PROXY UNKNOWN ffff:: anything 1 2\r\n', undefined],
  ['v1 of full length', `PROXY UNKNOWN ${'x'.repeat(91)}\r\n`, undefined],
  ['v2 of IPv4', binary('\x21', '\x11', V4_BODY), ends(V4)],
  ['v2 of IPv6', binary('\x21', '\x21', V6_BODY), ends(V6)],
  ['v2 of IPv4 in IPv6', binary('\x21', '\x21', MAPPED), ends(V4)],
  [
    'v2 with TLVs',
    binary('\x21', '\x11', `${V4_BODY}\x04\x00\x02xx${'t'.repeat(3_000)}`),
    ends(V4),
  ],
  ['v2 of full length', binary('\x21', '\x11', V4_BODY.padEnd(4_096, 't')), ends(V4)],
  ['v2 local', binary('\x20', '\x00', ''), undefined],
  ['v2 local with addresses', binary('\x20', '\x11', V4_BODY), undefined],
  ['v2 unspecified', binary('\x21', '\x00', ''), undefined],
  ['v2 of datagrams', binary('\x21', '\x12', V4_BODY), undefined],
  ['v2 of a unix socket', binary('\x21', '\x31', '\0'.repeat(216)), undefined],
]

describe('a PROXY protocol header', () => {
  it.each(whole)('%s is read to its end and no further', (_name, text, expected) => {
    for (const after of ['', 'GET', '\r\n\r\n', text]) {
      const header = readProxyHeader(bytes(text + after))
      expect(header).toEqual({ kind: 'header', length: text.length, ends: expected })
    }
  })

  it.each(whole)('%s is incomplete at every byte before its end', (_name, text) => {
    for (let length = 0; length < text.length; length += 1) {
      expect(readProxyHeader(bytes(text.slice(0, length)))).toEqual({ kind: 'incomplete' })
    }
  })

  it.each([
    ['of another protocol', 'GET / HTTP/1.1\r\n'],
    ['of TLS', '\x16\x03\x01\x02\x00'],
    ['in lower case', 'proxy TCP4 1.2.3.4 5.6.7.8 1 2\r\n'],
    ['of an unknown family', 'PROXY TCP5 1.2.3.4 5.6.7.8 1 2\r\n'],
    ['without a family', 'PROXY \r\n'],
    ['whose family only begins like one', 'PROXY UNKNOWNS\r\n'],
    ['of another family than its addresses', 'PROXY TCP4 ::1 ::2 1 2\r\n'],
    ['with a zone', 'PROXY TCP6 fe80::1%eth0 ::2 1 2\r\n'],
    ['with a name', 'PROXY TCP4 a.test 5.6.7.8 1 2\r\n'],
    ['with leading zeros in an address', 'PROXY TCP4 01.2.3.4 5.6.7.8 1 2\r\n'],
    ['with leading zeros in a port', 'PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n'],
    ['with a port that is too high', 'PROXY TCP4 1.2.3.4 5.6.7.8 65536 2\r\n'],
    ['with a sign', 'PROXY TCP4 1.2.3.4 5.6.7.8 +1 2\r\n'],
    ['without a port', 'PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n'],
    ['with more', 'PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n'],
    ['with two spaces', 'PROXY TCP4  1.2.3.4 5.6.7.8 1 2\r\n'],
    ['with a bare LF', 'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\nGET / HTTP/1.1\r\n'],
    ['longer than a line', `PROXY UNKNOWN ${'x'.repeat(92)}\r\n`],
    ['without an end', `PROXY UNKNOWN ${'x'.repeat(200)}`],
    ['of version 1 in binary', binary('\x11', '\x11', V4_BODY)],
    ['of version 3', binary('\x31', '\x11', V4_BODY)],
    ['of an unknown command', binary('\x22', '\x11', V4_BODY)],
    ['of an unknown family in binary', binary('\x21', '\x41', V4_BODY)],
    ['of an unknown transport', binary('\x21', '\x13', V4_BODY)],
    ['too short for IPv4', binary('\x21', '\x11', V4_BODY.slice(1))],
    ['too short for IPv6', binary('\x21', '\x21', V4_BODY)],
    ['longer than the bound', binary('\x21', '\x11', V4_BODY.padEnd(4_097, 't'))],
  ])('%s is malformed', (_name, text) => {
    expect(readProxyHeader(bytes(text))).toEqual({ kind: 'malformed' })
  })
})

describe('a header of our own', () => {
  const client = (endpoints: Endpoints): Transport => ({
    remoteAddress: endpoints.sourceAddress,
    endpoints: () => endpoints,
    listenWith: () => {},
    start: () => {},
    write: () => WriteResult.DONE,
    pause: () => {},
    resume: () => {},
    end: () => true,
    finish: () => true,
    destroy: () => {},
    reset: () => {},
  })

  it.each([
    ['v1', V4, 'PROXY TCP4 1.2.3.4 5.6.7.8 65535 80\r\n'],
    ['v1', V6, 'PROXY TCP6 2001:db8::1 2001:db8:0:1:: 65535 80\r\n'],
    ['v2', V4, binary('\x21', '\x11', V4_BODY)],
    ['v2', V6, binary('\x21', '\x21', V6_BODY)],
    [
      'v1',
      { source: '::ffff:1.2.3.4', destination: '::ffff:5.6.7.8' },
      'PROXY TCP4 1.2.3.4 5.6.7.8 65535 80\r\n',
    ],
    ['v1', { source: '', destination: '' }, 'PROXY UNKNOWN\r\n'],
    ['v2', { source: '', destination: '' }, binary('\x21', '\x00', '')],
    ['v1', { source: '1.2.3.4', destination: '::1' }, 'PROXY UNKNOWN\r\n'],
  ] as const)('in %s for %o is %j', (version, addresses, text) => {
    expect(proxyHeader(version, client(ends(addresses)))).toBe(text)
    expect(readProxyHeader(bytes(text)).kind).toBe('header')
  })

  it('for a connection that is gone says that nothing is known', () => {
    expect(proxyHeader('v1', undefined)).toBe('PROXY UNKNOWN\r\n')
  })
})
