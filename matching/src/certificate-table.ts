/** Which certificate a server name gets (RFC 6066 section 3, RFC 9525 section 6.3). */

/** All that finding one needs to know. */
interface NamedCertificate {
  readonly name: string
  readonly hosts: readonly string[]
}

export interface CertificateTable<C extends NamedCertificate> {
  readonly byName: ReadonlyMap<string, C>
  /** Keys: host names, and ".example.com" for "*.example.com". */
  readonly byHost: ReadonlyMap<string, C>
}

/** Where two certificates cover a host, the one that is first by name serves it. */
export function certificateTable<C extends NamedCertificate>(
  certificates: readonly C[],
): CertificateTable<C> {
  const byName = new Map<string, C>()
  const byHost = new Map<string, C>()
  for (const certificate of certificates.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    byName.set(certificate.name, certificate)
    for (const host of certificate.hosts) {
      const key = (host.startsWith('*.') ? host.slice(1) : host).toLowerCase()
      if (!byHost.has(key)) byHost.set(key, certificate)
    }
  }
  return { byName, byHost }
}

/** The certificate of a server name: an exact host before a wildcard of exactly one label. */
export function findCertificate<C extends NamedCertificate>(
  table: CertificateTable<C>,
  serverName: string,
): C | undefined {
  const lowerCase = serverName.toLowerCase()
  const name = lowerCase.endsWith('.') ? lowerCase.slice(0, -1) : lowerCase
  const exact = table.byHost.get(name)
  const dot = name.indexOf('.')
  return exact ?? (dot > 0 ? table.byHost.get(name.slice(dot)) : undefined)
}
