/** The kinds of resources. Lists and forms know of them only what is said here and what the API's schemas say. */
import type { Resource } from '../api/types.ts'

export interface Collection {
  readonly path: string
  readonly kind: string
  readonly singular: string
  readonly plural: string
  /** Of the API's document. */
  readonly schema: string
  /** What an empty list says. */
  readonly purpose: string
  /** One line that tells resources apart. */
  readonly summary: (resource: Resource) => string
}

export const collections: readonly Collection[] = [
  {
    path: 'routers',
    kind: 'router',
    singular: 'router',
    plural: 'Routers',
    schema: 'RouterRequest',
    purpose: 'A router says which requests go to which service.',
    summary: ({ match, service }) => {
      const { hosts, pathPrefixes } = (match ?? {}) as Record<string, string[] | undefined>
      const parts = [...(hosts ?? []), ...(pathPrefixes ?? [])]
      return `${parts.length === 0 ? 'every request' : parts.join(', ')} → ${String(service)}`
    },
  },
  {
    path: 'services',
    kind: 'service',
    singular: 'service',
    plural: 'Services',
    schema: 'ServiceRequest',
    purpose: 'A service is a group of servers that answer the same requests.',
    summary: ({ servers }) =>
      ((servers ?? []) as { readonly url: string }[]).map(({ url }) => url).join(', '),
  },
  {
    path: 'certificates',
    kind: 'certificate',
    singular: 'certificate',
    plural: 'Certificates',
    schema: 'CertificateRequest',
    purpose: 'A certificate lets clients trust an entry point that speaks HTTPS.',
    summary: ({ hosts, notAfter }) =>
      `${((hosts ?? []) as string[]).join(', ')} until ${String(notAfter).slice(0, 10)}`,
  },
  {
    path: 'entry-points',
    kind: 'entry-point',
    singular: 'entry point',
    plural: 'Entry points',
    schema: 'EntryPointRequest',
    purpose: 'An entry point is an address at which nodes take requests.',
    summary: ({ protocol, address }) => `${String(protocol)}://${String(address)}`,
  },
]
