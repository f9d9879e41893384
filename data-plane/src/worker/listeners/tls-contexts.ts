/** The TLS contexts of a worker's certificates: made when a server name first needs one, kept while it is the same. */
import { createSecureContext, type SecureContext } from 'node:tls'
import { type CertificateTable, findCertificate } from '@sluice/matching'
import type { Certificate } from '@sluice/proto'
import type { EntryPoint } from '../exchange/entry-point.ts'

export class UnknownServerName extends Error {
  constructor() {
    super('no certificate for this server name')
  }
}

interface Kept {
  readonly certificate: Certificate
  readonly context: SecureContext
}

export class TlsContexts {
  #table: CertificateTable<Certificate> = { byName: new Map(), byHost: new Map() }
  #contexts = new Map<string, Kept>()
  readonly #listeners = new Set<(table: CertificateTable<Certificate>) => void>()

  get table(): CertificateTable<Certificate> {
    return this.#table
  }

  /** Unchanged certificates keep their context, and with it their sessions. */
  setTable(table: CertificateTable<Certificate>): void {
    this.#table = table
    for (const [name, kept] of this.#contexts) {
      const certificate = table.byName.get(name)
      if (!isSameCertificate(certificate, kept.certificate)) {
        this.#contexts.delete(name)
      }
    }
    for (const listener of this.#listeners) listener(table)
  }

  /** Returns the function that ends it. */
  onChange(listener: (table: CertificateTable<Certificate>) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** A known name's context, else the entry point's default one, else undefined. */
  choose(serverName: string, entryPoint: EntryPoint): SecureContext | undefined {
    const certificate =
      findCertificate(this.#table, serverName) ??
      this.#table.byName.get(entryPoint.defaultCertificate)
    return certificate === undefined ? undefined : this.#contextOf(certificate)
  }

  #contextOf(certificate: Certificate): SecureContext {
    const kept = this.#contexts.get(certificate.name)
    if (kept !== undefined) return kept.context
    const context = createSecureContext({
      cert: certificate.chainPem,
      key: certificate.privateKeyPem,
    })
    this.#contexts.set(certificate.name, { certificate, context })
    return context
  }
}

export function isSameCertificate(a: Certificate | undefined, b: Certificate | undefined): boolean {
  return a?.chainPem === b?.chainPem && a?.privateKeyPem === b?.privateKeyPem
}
