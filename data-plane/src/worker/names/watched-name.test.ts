import { describe, expect, it } from 'vitest'
import type { FamilyAnswer } from './name-lookup.ts'
import { WatchedName } from './watched-name.ts'

const NONE: FamilyAnswer = { kind: 'none' }
const FAILED: FamilyAnswer = { kind: 'failed', reason: 'ESERVFAIL' }

function some(addresses: string[], ttlMs = 60_000): FamilyAnswer {
  return { kind: 'addresses', addresses, ttlMs }
}

function watch(): WatchedName {
  const ignore = () => {}
  return new WatchedName('svc.test', ignore, ignore)
}

const addressesOf = (name: WatchedName) => name.addresses.map(({ address }) => address)

describe('a name', () => {
  it.each([
    [0, 1_000],
    [5_000, 5_000],
    [86_400_000, 300_000],
  ])('with a time to live of %d ms is looked up again after %d ms', (ttlMs, expected) => {
    const name = watch()
    const answer = { ipv4: some(['10.0.0.1'], ttlMs), ipv6: NONE }
    name.take(answer)
    expect(name.refreshMs(answer)).toBe(expected)
  })

  it('is unchanged when its addresses come in another order', () => {
    const name = watch()
    expect(name.take({ ipv4: some(['10.0.0.1', '10.0.0.2']), ipv6: NONE })).toBe(true)
    expect(name.take({ ipv4: some(['10.0.0.2', '10.0.0.1']), ipv6: NONE })).toBe(false)
  })

  it('keeps the addresses of a family whose lookup fails, and drops those that are gone', () => {
    const name = watch()
    name.take({ ipv4: some(['10.0.0.1']), ipv6: some(['2001:db8::1']) })
    expect(name.take({ ipv4: some(['10.0.0.1']), ipv6: FAILED })).toBe(false)
    expect(addressesOf(name)).toEqual(['2001:db8::1'])
    expect(name.take({ ipv4: some(['10.0.0.1']), ipv6: NONE })).toBe(true)
    expect(addressesOf(name)).toEqual(['10.0.0.1'])
  })

  it('pairs each address with one of the other family, and keeps to the family that connected', () => {
    const name = watch()
    const answer = { ipv4: some(['10.0.0.1', '10.0.0.2']), ipv6: some(['2001:db8::1']) }
    name.take(answer)
    expect(name.addresses).toEqual([{ address: '2001:db8::1', alternative: '10.0.0.1' }])
    name.prefer(4)
    name.take(answer)
    expect(name.addresses).toEqual([
      { address: '10.0.0.1', alternative: '2001:db8::1' },
      { address: '10.0.0.2', alternative: '2001:db8::1' },
    ])
    name.take({ ipv4: answer.ipv4, ipv6: some(['2001:db8::2']) })
    expect(addressesOf(name)).toEqual(['2001:db8::2'])
  })
})
