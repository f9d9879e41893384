import { describe, expect, it } from 'vitest'
import {
  addressesCollide,
  addressReason,
  certificateHostReason,
  hostReason,
  methodReason,
  pathPrefixReason,
  rangeReason,
  regexReason,
  serverUrlReason,
} from './fields.ts'

const long = 'a'.repeat(64)

describe.each<[string, (text: string) => string | undefined, string[]]>([
  [
    'host',
    hostReason,
    ['demo.localhost', '*.example.com', 'a', 'xn--bcher-kva.example', '10.0.0.1'],
  ],
  ['certificate host', certificateHostReason, ['demo.localhost', '*.a.b', '127.0.0.1', '::1']],
  ['range', rangeReason, ['10.0.0.0/8', '0.0.0.0/0', '2001:db8::/32', '::1/128', '1.2.3.4/32']],
  ['regex', regexReason, ['/api/v[0-9]+', '/a|/b', '(?i)/x', '']],
  ['path prefix', pathPrefixReason, ['/', '/api', '/a/', '/%C3%BC', '/a:b@c']],
  ['method', methodReason, ['GET', 'M-SEARCH', 'X_1']],
  ['server URL', serverUrlReason, ['http://h:80', 'http://[::1]:9090', 'http://my_app:65535']],
  ['address', addressReason, [':8080', '127.0.0.1:0', '[::]:443', 'localhost:80']],
])('a %s', (_what, reasonOf, good) => {
  it.each(good)('may be "%s"', (text) => {
    expect(reasonOf(text)).toBeUndefined()
  })
})

describe.each<[string, (text: string) => string | undefined, [string, string][]]>([
  [
    'host',
    hostReason,
    [
      ['', 'is not a host name'],
      ['*', 'is not a host name'],
      ['*.', 'is not a host name'],
      ['a.*.b', 'does not stand for the whole first label'],
      ['*a.b', 'does not stand for the whole first label'],
      ['a:80', 'takes no port'],
      ['[::1]', 'takes no port'],
      ['a.', 'ends in a dot'],
      ['a..b', 'label ""'],
      ['-a.b', 'label "-a"'],
      ['a_b', 'label "a_b"'],
      ['a b', 'label "a b"'],
      [`${long}.b`, 'must be 1 to 63'],
      [`${'a.'.repeat(127)}a`, 'longer than 253'],
      ['bücher.example', 'write "xn--bcher-kva.example"'],
      ['*.bücher.example', 'write "*.xn--bcher-kva.example"'],
      ['http://a', 'has a "/"'],
    ],
  ],
  ['certificate host', certificateHostReason, [['fe80::1%eth0', 'is not a host name']]],
  [
    'range',
    rangeReason,
    [
      ['10.0.0.0', 'write "10.0.0.0/32"'],
      ['::1', 'write "::1/128"'],
      ['10.0.0.0/33', 'not 0 to 32'],
      ['::/129', 'not 0 to 128'],
      ['10.0.0.0/08', 'not 0 to 32'],
      ['10.0.0.0/', 'not 0 to 32'],
      ['10.0.0.0/8/8', 'not 0 to 32'],
      ['10.1/8', 'is not a CIDR range'],
      ['fe80::%eth0/64', 'is not a CIDR range'],
      ['private', 'is not a CIDR range'],
    ],
  ],
  [
    'regex',
    regexReason,
    [
      ['(', 'is not an RE2 expression'],
      ['a(?=b)', 'is not an RE2 expression'],
      ['(a)\\1', 'is not an RE2 expression'],
    ],
  ],
  [
    'path prefix',
    pathPrefixReason,
    [
      ['api', 'does not start with "/"'],
      ['/a?b', 'has a query'],
      ['/a b', 'percent-encode it'],
      ['/ü', 'percent-encode it'],
    ],
  ],
  [
    'method',
    methodReason,
    [
      ['G T', 'not a method token'],
      ['GET,POST', 'not a method token'],
    ],
  ],
  [
    'server URL',
    serverUrlReason,
    [
      ['https://h:443', 'is https'],
      ['h:80', 'does not start with "http://"'],
      ['ftp://h:80', 'does not start with "http://"'],
      ['http://h', 'names no port'],
      ['http://h:80/', 'more than a host and a port'],
      ['http://h:80/x', 'more than a host and a port'],
      ['http://h:80?x', 'more than a host and a port'],
      ['http://u:p@h:80', 'has user information'],
      ['http://h:0', 'not 1 to 65535'],
      ['http://h:65536', 'not 1 to 65535'],
      ['http://h:x', 'not 1 to 65535'],
      ['http://:80', 'not a name or an address'],
      ['http://::1:80', 'not a name or an address'],
      ['http://[x]:80', 'IPv6 address in brackets'],
    ],
  ],
  [
    'address',
    addressReason,
    [
      ['8080', 'is not an address'],
      ['', 'is not an address'],
      ['127.0.0.1', 'is not an address'],
      ['127.0.0.1:99999', 'not 0 to 65535'],
      ['::1:80', 'needs brackets'],
      ['[1.2.3.4]:80', 'IPv6 address in brackets'],
      ['a b:80', 'not an IP address or a name'],
    ],
  ],
])('a %s is refused with a reason', (_what, reasonOf, bad) => {
  it.each(bad)('"%s": %s', (text, reason) => {
    expect(reasonOf(text)).toContain(reason)
  })
})

it('never repeats the password of a server URL', () => {
  expect(serverUrlReason('http://user:secret@h:80')).not.toContain('secret')
})

it.each([
  [':80', '127.0.0.1:80', true],
  ['[::]:80', '0.0.0.0:80', true],
  ['0.0.0.0:80', '10.0.0.1:80', true],
  ['127.0.0.1:80', '127.0.0.1:80', true],
  ['127.0.0.1:80', '127.0.0.2:80', false],
  ['0.0.0.0:80', '[::1]:80', false],
  [':80', ':81', false],
  [':0', ':0', false],
])('%s and %s collide: %s', (left, right, expected) => {
  expect(addressesCollide(left, right)).toBe(expected)
  expect(addressesCollide(right, left)).toBe(expected)
})
