/** The border of the configuration stream: checks what nodes say and turns it into the registry's words. */
import { type Hello, type Load, type Problem, type Rejected, ResourceKind } from '@sluice/proto'
import { invalid } from './fleet-refusal.ts'
import { fleetLimits as limits } from './limits.ts'
import type { ConnectedNode } from './node-registry.ts'
import type { NodeLoad, NodeProblem } from './node-view.ts'

const printable = /^[\x21-\x7e]+$/
const hashPattern = /^[0-9a-f]{64}$/

export function readHello(hello: Hello, nodeId: string, address: string): ConnectedNode {
  if (hello.nodeId !== nodeId) {
    throw invalid('hello.node_id: is not the node that the certificate names')
  }
  assertText('hello.boot_id', hello.bootId, limits.bootIdCharactersMax)
  assertText('hello.software_version', hello.softwareVersion, limits.softwareVersionCharactersMax)
  if (hello.features.length > limits.featuresMax) {
    throw invalid(`hello.features: has more than ${limits.featuresMax} entries`)
  }
  for (const [index, feature] of hello.features.entries()) {
    assertText(`hello.features[${index}]`, feature, limits.featureCharactersMax)
  }
  if (hello.workers > limits.workersMax) {
    throw invalid(`hello.workers: is above ${limits.workersMax}`)
  }
  const version = readWhole('hello.version', hello.version)
  if (version === 0 ? hello.hash !== '' : !hashPattern.test(hello.hash)) {
    throw invalid(
      'hello.hash: does not go with the version; a node without one sends 0 and nothing',
    )
  }
  return {
    address,
    bootId: hello.bootId,
    softwareVersion: hello.softwareVersion,
    features: hello.features,
    workers: hello.workers,
    version,
    hash: hello.hash,
    appliedAtMs: readTime('hello.applied_at_ms', hello.appliedAtMs),
    timeMs: readTime('hello.time_ms', hello.timeMs),
    uptimeMs: readTime('hello.uptime_ms', hello.uptimeMs),
  }
}

export function readProblems(rejected: Rejected): NodeProblem[] {
  return rejected.problems.slice(0, limits.problemsMax).map(readProblem)
}

function readProblem({ object, field, reason }: Problem): NodeProblem {
  return {
    kind: kindNames.get(object?.kind ?? ResourceKind.UNSPECIFIED) ?? '',
    name: cut(object?.name ?? ''),
    field: cut(field),
    reason: cut(reason),
  }
}

/** Objects that are no router or service are of a newer node, and are left out. */
export function readLoad({ connectionsOpen, exchangesOpen, draining }: Load): NodeLoad {
  const known = draining.slice(0, limits.drainingObjectsMax).flatMap((one) => {
    const kind = one.object?.kind
    if (kind !== ResourceKind.ROUTER && kind !== ResourceKind.SERVICE) return []
    return {
      kind: kind === ResourceKind.ROUTER ? ('router' as const) : ('service' as const),
      name: cut(one.object?.name ?? ''),
      serverUrl: cut(one.serverUrl),
      exchangesOpen: one.exchangesOpen,
    }
  })
  return { connectionsOpen, exchangesOpen, draining: known }
}

const kindNames = new Map<ResourceKind, string>([
  [ResourceKind.ENTRY_POINT, 'entry-point'],
  [ResourceKind.ROUTER, 'router'],
  [ResourceKind.SERVICE, 'service'],
  [ResourceKind.CERTIFICATE, 'certificate'],
  [ResourceKind.SETTINGS, 'settings'],
])

function assertText(field: string, text: string, charactersMax: number): void {
  if (text.length > charactersMax || !printable.test(text)) {
    throw invalid(`${field}: is not 1 to ${charactersMax} printable characters`)
  }
}

function readWhole(field: string, value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw invalid(`${field}: is out of range`)
  }
  return Number(value)
}

export function readTime(field: string, timeMs: bigint): number {
  // The last moment that a Date can hold.
  if (timeMs > 8_640_000_000_000_000n) {
    throw invalid(`${field}: is not a time`)
  }
  return Number(timeMs)
}

function cut(text: string): string {
  return text.slice(0, limits.problemCharactersMax).toWellFormed()
}
