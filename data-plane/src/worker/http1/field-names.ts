/**
 * The field names that the engine acts on, found by hash and then compared byte by byte: a name that only
 * collides must not be taken for a framing field. Hot.
 */
import { LOWER_CASE } from './characters.ts'

export const FIELD_NAMES = [
  '',
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-server',
  'forwarded',
  'x-real-ip',
  'user-agent',
  'proxy-authenticate',
  'proxy-authorization',
  'http2-settings',
] as const

export const Field = Object.freeze({
  OTHER: 0,
  HOST: 1,
  CONTENT_LENGTH: 2,
  TRANSFER_ENCODING: 3,
  CONNECTION: 4,
  KEEP_ALIVE: 5,
  PROXY_CONNECTION: 6,
  TE: 7,
  TRAILER: 8,
  UPGRADE: 9,
  EXPECT: 10,
  X_FORWARDED_FOR: 11,
  X_FORWARDED_PROTO: 12,
  X_FORWARDED_HOST: 13,
  X_FORWARDED_PORT: 14,
  X_FORWARDED_PREFIX: 15,
  X_FORWARDED_SERVER: 16,
  FORWARDED: 17,
  X_REAL_IP: 18,
  USER_AGENT: 19,
  PROXY_AUTHENTICATE: 20,
  PROXY_AUTHORIZATION: 21,
  HTTP2_SETTINGS: 22,
})

/** One step of the hash over a name's lower-case bytes. */
export function hashStep(hash: number, lowerCaseByte: number): number {
  return (Math.imul(hash, 31) + lowerCaseByte) | 0
}

const SLOTS = 1024
const slots = new Uint8Array(SLOTS)
for (let id = 1; id < FIELD_NAMES.length; id += 1) {
  const name = FIELD_NAMES[id] ?? ''
  let hash = 0
  for (let at = 0; at < name.length; at += 1) hash = hashStep(hash, name.charCodeAt(at))
  const slot = hash & (SLOTS - 1)
  if (slots[slot] !== 0) throw new Error(`${name} and ${FIELD_NAMES[slots[slot] ?? 0]} collide`)
  slots[slot] = id
}

/** The id of the name in bytes[from..to), whose hash is given; Field.OTHER for any that is not in the list. */
export function fieldId(bytes: Uint8Array, from: number, to: number, hash: number): number {
  const id = slots[hash & (SLOTS - 1)] ?? 0
  if (id === 0) return 0
  const name = FIELD_NAMES[id] ?? ''
  if (name.length !== to - from) return 0
  for (let at = 0; at < name.length; at += 1) {
    if (LOWER_CASE[bytes[from + at] ?? 0] !== name.charCodeAt(at)) return 0
  }
  return id
}
