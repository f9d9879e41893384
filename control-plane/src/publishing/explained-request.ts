/** A request as somebody describes it, read the way a node would read it off the wire. */
import { domainToASCII } from 'node:url'

export interface ExplainedRequest {
  readonly scheme: 'http' | 'https'
  readonly port: number
  /** From the Host field, else from the URL; without the port. */
  readonly host: string
  /** From the URL: what TLS asks for. */
  readonly serverName: string
  /** As it stands in the URL, without the query. */
  readonly path: string
  /** Whether each "%" in the query is followed by two hexadecimal digits. */
  readonly isQueryWhole: boolean
  readonly method: string
  /** The client's address as a node sees it. */
  readonly from: string
  readonly entryPoint?: string
}

export interface RequestDescription {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly from?: string
  readonly entryPoint?: string
}

const defaultPorts = { http: 80, https: 443 } as const

/** undefined: the URL is none of http or https. */
export function readRequest(description: RequestDescription): ExplainedRequest | undefined {
  // Not by URL alone: it would resolve dots and escape characters that clients may well send as they are.
  const [, scheme = '', authority = '', path = '', query = ''] =
    /^(https?):\/\/([^/?#]+)([^?#]*)(\?[^#]*)?/i.exec(description.url) ?? []
  const url = URL.parse(description.url)
  const kind = scheme.toLowerCase()
  if ((kind !== 'http' && kind !== 'https') || url === null || authority.includes('@')) {
    return undefined
  }
  const named = Object.entries(description.headers ?? {}).find(
    ([name]) => name.toLowerCase() === 'host',
  )
  const serverName = url.hostname
  const { method = 'GET', from = '', entryPoint } = description
  return {
    scheme: kind,
    port: url.port === '' ? defaultPorts[kind] : Number(url.port),
    host: named === undefined ? serverName : hostOf(named[1]),
    serverName,
    path: path === '' ? '/' : path,
    isQueryWhole: !/%(?![0-9a-f]{2})/i.test(query),
    method,
    from,
    ...(entryPoint !== undefined && { entryPoint }),
  }
}

function hostOf(field: string): string {
  const host = field.trim().replace(/:\d*$/, '')
  return /^[\0-\x7f]*$/.test(host) ? host : domainToASCII(host)
}
