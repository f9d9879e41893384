import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { Vault, VaultError } from './vault.ts'

const key = randomBytes(32)
const plain = Buffer.from('a secret')

it('opens what it sealed, in a later process too', () => {
  const sealed = new Vault(key).seal(plain, 'context')
  expect(new Vault(key).open(sealed, 'context')).toEqual(plain)
})

it('seals the same text to other bytes each time, and never shows it', () => {
  const vault = new Vault(key)
  const first = Buffer.from(vault.seal(plain, 'c'))
  expect(first.equals(vault.seal(plain, 'c'))).toBe(false)
  expect(first.includes(plain)).toBe(false)
})

it('does not open under another key or for another context', () => {
  const sealed = new Vault(key).seal(plain, 'context')
  expect(() => new Vault(randomBytes(32)).open(sealed, 'context')).toThrow(VaultError)
  expect(() => new Vault(key).open(sealed, 'other')).toThrow(VaultError)
})

it('does not open when any byte is changed or missing', () => {
  const vault = new Vault(key)
  const sealed = vault.seal(plain, 'context')
  for (let at = 0; at < sealed.length; at += 1) {
    const damaged = Uint8Array.from(sealed)
    damaged[at] = (damaged[at] ?? 0) ^ 1
    expect(() => vault.open(damaged, 'context')).toThrow(VaultError)
    expect(() => vault.open(sealed.subarray(0, at), 'context')).toThrow(VaultError)
  }
})

it('takes no key of another length', () => {
  expect(() => new Vault(randomBytes(16))).toThrow('a master key has 32 bytes, not 16')
})
