/**
 * A request's head as the engine understands it: where it is to go and the head that is sent there. Reads the
 * parser right after a parse and keeps nothing of it. Hot.
 */
import type { BlockList } from 'node:net'
import { canonicalHost, normalisePath } from '@sluice/matching'
import { BodyLength } from '../http1/framing.ts'
import type { HeadParser } from '../http1/head-parser.ts'
import {
  ENDING_IN_REQUESTS,
  ENDING_IN_TRUSTED_REQUESTS,
  fieldValue,
  keptFields,
} from '../http1/kept-fields.ts'
import { areEscapesWhole, hostNameEnd, isPlainPath } from '../http1/request-target.ts'
import { clientAddressOf, extendedFields, forwardedFor } from './forwarding-fields.ts'

/** What the engine knows of the peer that sent a request. */
export interface Peer {
  /** IPv4 or IPv6 address; '' when unknown. */
  readonly address: string
  /** Set for a peer that is one of these; undefined: its word on the client does not count. */
  readonly trustedPeers: BlockList | undefined
  readonly scheme: 'http' | 'https'
}

const SLASH = 0x2f
const QUESTION_MARK = 0x3f
/** Without a body, these still say so (RFC 9110 section 8.6). */
const METHODS_WITH_CONTENT = new Set(['POST', 'PUT', 'PATCH'])
/** RFC 9110 section 9.2.2. */
const IDEMPOTENT_METHODS = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])

export class Request {
  method = ''
  /** As the client sent it, port included; '' for an HTTP/1.0 request without one. */
  host = ''
  /** As routers have it. */
  canonicalHost = ''
  /** Normalised, without the query. */
  path = ''
  userAgent = ''
  minorVersion = 1
  isHead = false
  isIdempotent = false
  expectsContinue = false
  /** The client may hold its body back until the server has said 100 (RFC 9110 section 10.1.1). */
  awaitsContinue = false
  wantsKeepAlive = false
  /** Asks for another protocol, and the server is asked for it. */
  wantsUpgrade = false
  acceptsTrailers = false
  /** The address that client ranges are matched against and that log lines have. */
  clientAddress = ''
  /** Method and target, up to the version. */
  #requestLine = ''
  /** From after the Host line to the end of the head. */
  #rest = ''

  /** Forgets the request before, so that nothing of it is taken for a part of one that cannot be read. */
  clear(): void {
    this.method = ''
    this.host = ''
    this.canonicalHost = ''
    this.path = ''
    this.userAgent = ''
    this.minorVersion = 1
    this.isHead = false
    this.isIdempotent = false
    this.expectsContinue = false
    this.awaitsContinue = false
    this.wantsKeepAlive = false
    this.wantsUpgrade = false
    this.acceptsTrailers = false
    this.clientAddress = ''
    this.#requestLine = ''
    this.#rest = ''
  }

  /** 0, or the status to refuse the request with. `bytes[from..to)` is the parsed head. */
  read(head: HeadParser, bytes: Buffer, from: number, to: number, peer: Peer): number {
    this.clear()
    const text = bytes.toString('latin1', from, to)
    this.method = text.slice(head.methodStart - from, head.methodEnd - from)
    this.isHead = this.method === 'HEAD'
    this.isIdempotent = IDEMPOTENT_METHODS.has(this.method)
    this.minorVersion = head.minorVersion
    this.wantsKeepAlive =
      head.minorVersion === 1 ? !head.hasClose : head.hasKeepAlive && !head.hasClose
    this.expectsContinue = head.hasExpect && head.minorVersion === 1
    this.awaitsContinue = this.expectsContinue && head.bodyLength !== BodyLength.NONE
    this.acceptsTrailers = head.hasTrailersAccepted && head.minorVersion === 1
    this.wantsUpgrade = isUpgrade(head, text, from)
    this.userAgent = fieldValue(head, text, from, head.userAgentIndex)
    const status =
      this.#readHost(head, bytes, text, from) || this.#readTarget(head, bytes, text, from)
    if (status !== 0) return status
    this.clientAddress = peer.address
    this.#rest = this.#writeRest(head, text, from, peer)
    return 0
  }

  /** The head to send. `authority`: what to name as Host instead of what the client named. */
  headFor(authority: string | undefined): string {
    return `${this.#requestLine} HTTP/1.1\r\nHost: ${authority ?? this.host}\r\n${this.#rest}`
  }

  #readHost(head: HeadParser, bytes: Buffer, text: string, base: number): number {
    if (head.hostIndex < 0) return head.minorVersion === 1 ? 400 : 0
    return this.#takeHost(
      bytes,
      text,
      base,
      head.valueStarts[head.hostIndex] ?? 0,
      head.valueEnds[head.hostIndex] ?? 0,
    )
  }

  #takeHost(bytes: Buffer, text: string, base: number, from: number, to: number): number {
    const nameEnd = hostNameEnd(bytes, from, to)
    if (nameEnd < 0) return 400
    this.host = text.slice(from - base, to - base)
    this.canonicalHost = canonicalHost(text.slice(from - base, nameEnd - base))
    return 0
  }

  /** RFC 9112 section 3.2. */
  #readTarget(head: HeadParser, bytes: Buffer, text: string, base: number): number {
    const from = head.targetStart
    const to = head.targetEnd
    if (this.method === 'CONNECT') return 501
    if (bytes[from] === SLASH) return this.#takePath(bytes, text, base, from, to)
    if (to - from === 1 && bytes[from] === 0x2a && this.method === 'OPTIONS') {
      this.path = '/'
      this.#requestLine = 'OPTIONS *'
      return 0
    }
    return this.#takeAbsoluteTarget(head, bytes, text, base)
  }

  /** The authority of an absolute target overrides the Host field (RFC 9112 section 3.2.2). */
  #takeAbsoluteTarget(head: HeadParser, bytes: Buffer, text: string, base: number): number {
    const target = text.slice(head.targetStart - base, head.targetEnd - base)
    const schemeLength = httpSchemeLength(target.slice(0, 8).toLowerCase())
    if (schemeLength === 0) return 400
    const authorityStart = head.targetStart + schemeLength
    let authorityEnd = authorityStart
    while (authorityEnd < head.targetEnd) {
      if (bytes[authorityEnd] === SLASH || bytes[authorityEnd] === QUESTION_MARK) break
      authorityEnd += 1
    }
    const status = this.#takeHost(bytes, text, base, authorityStart, authorityEnd)
    if (status !== 0) return status
    if (authorityEnd < head.targetEnd && bytes[authorityEnd] === SLASH) {
      return this.#takePath(bytes, text, base, authorityEnd, head.targetEnd)
    }
    if (!areEscapesWhole(bytes, authorityEnd, head.targetEnd)) return 400
    this.path = '/'
    this.#requestLine = `${this.method} /${text.slice(authorityEnd - base, head.targetEnd - base)}`
    return 0
  }

  #takePath(bytes: Buffer, text: string, base: number, from: number, to: number): number {
    let pathEnd = from
    while (pathEnd < to && bytes[pathEnd] !== QUESTION_MARK) pathEnd += 1
    if (!areEscapesWhole(bytes, pathEnd, to)) return 400
    const path = text.slice(from - base, pathEnd - base)
    if (isPlainPath(bytes, from, pathEnd)) {
      this.path = path
      this.#requestLine = `${this.method} ${text.slice(from - base, to - base)}`
      return 0
    }
    const normal = normalisePath(path)
    if (normal === undefined) return 400
    this.path = normal.matched
    this.#requestLine = `${this.method} ${normal.forwarded}${text.slice(pathEnd - base, to - base)}`
    return 0
  }

  #writeRest(head: HeadParser, text: string, base: number, peer: Peer): string {
    const { address, scheme, trustedPeers } = peer
    let ending = ENDING_IN_REQUESTS
    let forwarded: string
    if (trustedPeers === undefined) {
      forwarded = `X-Forwarded-For: ${address}\r\nX-Forwarded-Proto: ${scheme}\r\nX-Forwarded-Host: ${this.host}\r\n`
    } else {
      const list = forwardedFor(head, text, base)
      this.clientAddress = clientAddressOf(list, address, trustedPeers)
      forwarded = extendedFields(head, text, base, peer, this.host, list)
      ending = ENDING_IN_TRUSTED_REQUESTS
    }
    const hopByHop = this.#hopByHopLines(head, text, base)
    return `${keptFields(head, text, base, ending)}${this.#lengthLine(head)}${hopByHop}${forwarded}\r\n`
  }

  /** What of the connection to the client also holds for the one to the server (RFC 9110 section 7.6.1). */
  #hopByHopLines(head: HeadParser, text: string, base: number): string {
    if (this.wantsUpgrade) {
      return `Connection: upgrade\r\nUpgrade: ${fieldValue(head, text, base, head.upgradeIndex)}\r\n`
    }
    return this.acceptsTrailers ? 'Connection: TE\r\nTE: trailers\r\n' : ''
  }

  #lengthLine(head: HeadParser): string {
    switch (head.bodyLength) {
      case BodyLength.CHUNKED:
        return 'Transfer-Encoding: chunked\r\n'
      case BodyLength.LENGTH:
        return `Content-Length: ${head.contentLength}\r\n`
      default:
        return METHODS_WITH_CONTENT.has(this.method) ? 'Content-Length: 0\r\n' : ''
    }
  }
}

/**
 * Whether a request asks to switch protocols in a way that is passed on: nominated by Connection, without a
 * body, and not for HTTP/2, which would let requests past this proxy's eyes (RFC 9110 section 7.8).
 */
function isUpgrade(head: HeadParser, text: string, base: number): boolean {
  if (head.upgradeIndex < 0 || head.minorVersion === 0) return false
  if (head.nominated?.includes('upgrade') !== true || head.bodyLength !== BodyLength.NONE)
    return false
  const protocols = fieldValue(head, text, base, head.upgradeIndex).toLowerCase()
  return (
    protocols !== '' && !protocols.split(',').some((protocol) => protocol.trim().startsWith('h2'))
  )
}

/** Of "http://" or "https://" at the start; 0 for any other. */
function httpSchemeLength(start: string): number {
  if (start.startsWith('http://')) return 7
  return start === 'https://' ? 8 : 0
}
