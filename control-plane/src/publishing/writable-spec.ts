/** A resource as an operator would write it: what patches are merged into. */
import type { Configuration, ResourceId } from '../model/configuration.ts'

export function writableSpec(configuration: Configuration, { kind, name }: ResourceId): unknown {
  switch (kind) {
    case 'entry-point':
      return configuration.entryPoints.get(name)
    case 'router':
      return configuration.routers.get(name)
    case 'service':
      return configuration.services.get(name)
    case 'certificate':
      return writableCertificate(configuration, name)
    case 'settings':
      return configuration.settings
  }
}

function writableCertificate(configuration: Configuration, name: string): unknown {
  const certificate = configuration.certificates.get(name)
  if (certificate === undefined) return undefined
  const { source, chainPem, hosts, labels } = certificate
  return source === 'uploaded'
    ? { name, labels, source, chainPem }
    : { name, labels, source, hosts }
}
