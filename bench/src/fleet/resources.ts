/** The resources that fleets are measured with, applied in parts that fit into a request. */
import type { MeasuredControlPlane } from './control-plane.ts'

const ROUTERS_PER_APPLY = 2_000
const CERTIFICATES_PER_APPLY = 200

export function hostOf(router: number): string {
  return `r${router}.bench.localhost`
}

export async function applyRouters(
  controlPlane: MeasuredControlPlane,
  routers: number,
  originPort = 2,
): Promise<void> {
  await controlPlane.call('POST', 'apply', {
    resources: [
      { kind: 'entry-point', name: 'web', address: '127.0.0.1:1', protocol: 'http' },
      { kind: 'service', name: 'origin', servers: [{ url: `http://127.0.0.1:${originPort}` }] },
    ],
  })
  await inParts(controlPlane, routers, ROUTERS_PER_APPLY, (number) => ({
    kind: 'router',
    name: `r${number}`,
    match: { hosts: [hostOf(number)], pathPrefixes: ['/'] },
    service: 'origin',
  }))
}

export async function applyCertificates(
  controlPlane: MeasuredControlPlane,
  certificates: number,
): Promise<void> {
  await inParts(controlPlane, certificates, CERTIFICATES_PER_APPLY, (number) => ({
    kind: 'certificate',
    name: `c${number}`,
    source: 'internal',
    hosts: [hostOf(number)],
  }))
}

export async function changeRouter(
  controlPlane: MeasuredControlPlane,
  priority: number,
): Promise<void> {
  await controlPlane.call('PUT', 'routers/r0', {
    name: 'r0',
    match: { hosts: [hostOf(0)], pathPrefixes: ['/'] },
    service: 'origin',
    priority,
  })
}

async function inParts(
  controlPlane: MeasuredControlPlane,
  total: number,
  perApply: number,
  resource: (number: number) => object,
): Promise<void> {
  for (let at = 0; at < total; at += perApply) {
    const count = Math.min(perApply, total - at)
    const resources = Array.from({ length: count }, (_, index) => resource(at + index))
    await controlPlane.call('POST', 'apply', { resources })
  }
}
