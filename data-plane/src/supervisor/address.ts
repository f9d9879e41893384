/** HOST:PORT, [IPV6]:PORT and :PORT as flags and entry points have them. */
import { isIPv6 } from 'node:net'

export interface Address {
  /** Without brackets; empty: all addresses. */
  readonly host: string
  readonly port: number
}

const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]{0,252})$/i

export function parseAddress(text: string): Address | undefined {
  const colon = text.lastIndexOf(':')
  if (colon < 0) return undefined
  const port = parsePort(text.slice(colon + 1))
  const host = parseHost(text.slice(0, colon))
  return port === undefined || host === undefined ? undefined : { host, port }
}

export function formatAddress(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

function parsePort(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined
  const port = Number(text)
  return port <= 65_535 ? port : undefined
}

function parseHost(text: string): string | undefined {
  if (text === '') return ''
  if (text.startsWith('[') && text.endsWith(']')) {
    const inner = text.slice(1, -1)
    return isIPv6(inner) ? inner : undefined
  }
  return HOST_NAME.test(text) ? text : undefined
}
