/**
 * Bodies of requests that write one resource. What a GET answers may be sent back: the fields that only the
 * control plane writes are taken and not looked at. Whoever wants to be sure that nothing was changed
 * meanwhile says so with If-Match.
 */
import { type TSchema, Type } from 'typebox'
import { certificateUnion, type Document, documentSchemas, toDocument } from './documents.ts'
import type { Kind } from './kinds.ts'
import { InternalCertificate, type ObjectSchema, UploadedCertificate } from './resources.ts'

const always = ['createdAt', 'updatedAt', 'revision', 'warnings']
const ofCertificates = [...always, 'notBefore', 'notAfter', 'fingerprint', 'issuer']
const ofUploaded = [...ofCertificates, 'hosts']
const ofInternal = [...ofCertificates, 'chainPem']

/** A key that is stored may be left out: whoever read the certificate was never shown it. */
const uploaded = { ...UploadedCertificate, required: ['name', 'source', 'chainPem'] }

export const bodySchemas: Readonly<Record<Kind, TSchema>> = {
  'entry-point': withIgnored(documentSchemas['entry-point'], always),
  router: withIgnored(documentSchemas.router, always),
  service: withIgnored(documentSchemas.service, always),
  certificate: certificateUnion(
    'CertificateRequest',
    withIgnored(uploaded, ofUploaded),
    withIgnored(InternalCertificate, ofInternal),
  ),
  settings: withIgnored(documentSchemas.settings, always),
}

/** A body that passed its schema in `bodySchemas` as a document. */
export function fromBody(kind: Kind, checked: object): Document {
  const ignored = new Set(ignoredOf(kind, checked))
  const written = Object.entries(checked).filter(([field]) => !ignored.has(field))
  return toDocument(kind, Object.fromEntries(written))
}

function ignoredOf(kind: Kind, checked: object): readonly string[] {
  if (kind !== 'certificate') return always
  return 'source' in checked && checked.source === 'internal' ? ofInternal : ofUploaded
}

function withIgnored(schema: ObjectSchema, fields: readonly string[]): ObjectSchema {
  const ignored = Type.Unsafe({ readOnly: true, description: 'ignored' })
  const added = fields.map((field) => [field, ignored])
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(added) } }
}
