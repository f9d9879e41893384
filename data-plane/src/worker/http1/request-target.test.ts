import { canonicalHost, normalisePath } from '@sluice/matching'
import { describe, expect, it } from 'vitest'
import { hostNameEnd } from './request-target.ts'

describe('normalisePath', () => {
  it.each([
    ['/a%2Fb', '/a%2Fb', '/a%2Fb'],
    ['/a%2fb', '/a%2fb', '/a%2fb'],
    ['/caf%C3%A9', '/caf%C3%A9', '/caf%C3%A9'],
    ['/%7Euser/%61', '/~user/a', '/%7Euser/%61'],
    ['/a%252Fb', '/a%252Fb', '/a%252Fb'],
    ['/a;b=c', '/a;b=c', '/a;b=c'],
    ['//admin', '//admin', '//admin'],
    ['/public/../admin/x', '/admin/x', '/admin/x'],
    ['/public/%2e%2E/admin/x', '/admin/x', '/admin/x'],
    ['/./admin', '/admin', '/admin'],
    ['/a/b/..', '/a/', '/a/'],
    ['/a/.', '/a/', '/a/'],
    ['/a/%61/../%62', '/a/b', '/a/%62'],
    ['/public/%252e%252e/admin', '/public/%252e%252e/admin', '/public/%252e%252e/admin'],
    ['/a..b/..c', '/a..b/..c', '/a..b/..c'],
  ])('%s is matched as %s and forwarded as %s', (path, matched, forwarded) => {
    expect(normalisePath(path)).toEqual({ matched, forwarded })
  })

  it.each([
    '/..',
    '/a/../../b',
    '/%2e%2e/etc',
    '/public/..%2fadmin/x',
    '/public/%2e%2e%2fadmin',
    '/public/..;/admin',
    '/public/..\\admin',
    '/public/%5c..%5cadmin',
    '/a%00b',
    '/%',
    '/%1',
    '/%zz',
  ])('refuses %s', (path) => {
    expect(normalisePath(path)).toBeUndefined()
  })
})

describe('hostNameEnd', () => {
  const nameOf = (text: string) => {
    const bytes = Buffer.from(text, 'latin1')
    const end = hostNameEnd(bytes, 0, bytes.length)
    return end < 0 ? undefined : canonicalHost(text.slice(0, end))
  }

  it.each([
    ['a.test', 'a.test'],
    ['A.TEST', 'a.test'],
    ['a.test:', 'a.test'],
    ['a.test.', 'a.test'],
    ['a.test.:8080', 'a.test'],
    ['[::1]:8080', '[::1]'],
    ['127.0.0.1:65535', '127.0.0.1'],
  ])('takes %s for %s', (text, name) => {
    expect(nameOf(text)).toBe(name)
  })

  it.each([
    '',
    '.',
    'a.test, b.test',
    'a.test:70000',
    'a.test:0',
    'a.test:80:90',
    'a.test/x',
    'a test',
    'user@a.test',
    '[::1',
    '[]',
    'a.test\0.evil.test',
    'a'.repeat(300),
  ])('refuses %j', (text) => {
    expect(nameOf(text)).toBeUndefined()
  })
})
