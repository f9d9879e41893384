/** The TLS contexts of a worker's certificates: made when a server name first needs one, kept while it is the same. */
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Certificate } from '@sluice/proto'
import { type CertificateTable, findCertificate } from '../../configuration/certificate-table.ts'
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
  #table: CertificateTable = { byName: new Map(), byHost: new Map() }
  #contexts = new Map<string, Kept>()
  readonly #listeners: ((table: CertificateTable) => void)[] = []

  get table(): CertificateTable {
    return this.#table
  }

  /** Unchanged certificates keep their context, and with it their sessions. */
  setTable(table: CertificateTable): void {
    this.#table = table
    for (const [name, kept] of this.#contexts) {
      const certificate = table.byName.get(name)
      if (certificate === undefined || !isSame(certificate, kept.certificate)) {
        this.#contexts.delete(name)
      }
    }
    for (const listener of this.#listeners) listener(table)
  }

  onChange(listener: (table: CertificateTable) => void): void {
    this.#listeners.push(listener)
  }

  /** An SNI callback: a known name's context, the entry point's default, or an error that ends the handshake. */
  choose(
    serverName: string,
    entryPoint: EntryPoint,
    done: (error: Error | null, context?: SecureContext) => void,
  ): void {
    const certificate =
      findCertificate(this.#table, serverName) ??
      this.#table.byName.get(entryPoint.defaultCertificate)
    if (certificate === undefined) done(new UnknownServerName())
    else done(null, this.#contextOf(certificate))
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

function isSame(a: Certificate, b: Certificate): boolean {
  return a.chainPem === b.chainPem && a.privateKeyPem === b.privateKeyPem
}
