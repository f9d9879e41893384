/**
 * X-Forwarded-* and Forwarded (RFC 7239) of a request that a trusted peer sent: its word on the client is kept
 * and extended. What any other peer says is replaced by Request itself. Hot, but for trusted peers only.
 */
import type { BlockList } from 'node:net'
import { limits } from '../../limits.ts'
import { elementAddress, isInRanges } from '../addresses/peer-address.ts'
import { Field } from '../http1/field-names.ts'
import type { HeadParser } from '../http1/head-parser.ts'
import { fieldValue } from '../http1/kept-fields.ts'

export interface ForwardingPeer {
  readonly address: string
  readonly scheme: 'http' | 'https'
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The X-Forwarded-For lines, joined; '' when they name nobody. */
export function forwardedFor(head: HeadParser, text: string, base: number): string {
  return joinedLines(head, text, base, Field.X_FORWARDED_FOR)
}

/**
 * The client of a trusted peer: from the right, the first element of the list that is not itself a trusted
 * peer. What stands left of it, or of an element that is no address, anybody may have written.
 */
export function clientAddressOf(list: string, peerAddress: string, trusted: BlockList): string {
  let client = peerAddress
  let end = list.length
  for (let hops = 0; end > 0 && hops < limits.forwardedHopsMax; hops += 1) {
    const comma = list.lastIndexOf(',', end - 1)
    const element = list.slice(comma + 1, end).trim()
    end = comma
    if (element === '') continue
    const address = elementAddress(element)
    if (address === '') return client
    client = address
    if (!isInRanges(trusted, address)) return client
  }
  return client
}

/** The lines that follow the request's other fields. `list`: as forwardedFor has it. */
export function extendedFields(
  head: HeadParser,
  text: string,
  base: number,
  peer: ForwardingPeer,
  host: string,
  list: string,
): string {
  let hasProto = false
  let hasHost = false
  let hasForwarded = false
  for (let index = 0; index < head.fieldCount; index += 1) {
    const id = head.fieldIds[index]
    hasProto ||= id === Field.X_FORWARDED_PROTO
    hasHost ||= id === Field.X_FORWARDED_HOST
    hasForwarded ||= id === Field.FORWARDED
  }
  let lines = `X-Forwarded-For: ${list === '' ? '' : `${list}, `}${peer.address}\r\n`
  if (!hasProto) lines += `X-Forwarded-Proto: ${peer.scheme}\r\n`
  if (!hasHost) lines += `X-Forwarded-Host: ${host}\r\n`
  if (hasForwarded) lines += extendedForwarded(head, text, base, peer, host)
  return lines
}

/** A list that ends inside a quoted string would swallow our element, so it is dropped. */
function extendedForwarded(
  head: HeadParser,
  text: string,
  base: number,
  peer: ForwardingPeer,
  host: string,
): string {
  const list = joinedLines(head, text, base, Field.FORWARDED)
  const before = list === '' || !areQuotesClosed(list) ? '' : `${list}, `
  return `Forwarded: ${before}${forwardedElement(peer, host)}\r\n`
}

function forwardedElement(peer: ForwardingPeer, host: string): string {
  const node = peer.address.includes(':') ? `"[${peer.address}]"` : peer.address || 'unknown'
  if (host === '') return `for=${node};proto=${peer.scheme}`
  // A valid host is a token but for the colons and brackets of a port and of IPv6.
  const isToken = !host.includes(':') && !host.startsWith('[')
  return `for=${node};proto=${peer.scheme};host=${isToken ? host : `"${host}"`}`
}

/** All values of a field in their order; empty ones say nothing. */
function joinedLines(head: HeadParser, text: string, base: number, id: number): string {
  let joined = ''
  for (let index = 0; index < head.fieldCount; index += 1) {
    if (head.fieldIds[index] !== id) continue
    const value = fieldValue(head, text, base, index)
    if (value === '') continue
    joined += joined === '' ? value : `, ${value}`
  }
  return joined
}

function areQuotesClosed(list: string): boolean {
  let isQuoted = false
  for (let at = 0; at < list.length; at += 1) {
    const code = list.charCodeAt(at)
    if (code === QUOTE) isQuoted = !isQuoted
    else if (isQuoted && code === BACKSLASH) at += 1
  }
  return !isQuoted
}
