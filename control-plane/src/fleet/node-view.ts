/** A node as the API shows it: its row, what its connection tells, and what it should run. */

import type { ResourceId } from '../model/configuration.ts'
import type { PublishedVersion } from '../publishing/published-version.ts'
import type { ViewNeed } from '../publishing/version-view.ts'
import type { NodeRecord } from '../store/nodes.ts'
import { readLabels } from './labels.ts'

export const nodeStates = [
  'in-sync',
  'updating',
  'rejected',
  'lost',
  'draining',
  'revoked',
] as const
export type NodeState = (typeof nodeStates)[number]

/** What is still open on a node where something drains. */
export interface NodeLoad {
  readonly connectionsOpen: number
  readonly exchangesOpen: number
  readonly draining: readonly DrainingObject[]
}

/** A router, or a server of a service, that gets no new exchanges. */
export interface DrainingObject extends ResourceId {
  /** Empty for a router. */
  readonly serverUrl: string
  readonly exchangesOpen: number
}

export interface NodeProblem {
  readonly kind: string
  readonly name: string
  readonly field: string
  readonly reason: string
}

/** A node as the API shows it. */
export interface NodeView {
  readonly id: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly state: NodeState
  readonly isConnected: boolean
  readonly connectedAt: string | null
  readonly lastSeenAt: string | null
  /** What the node should run; 0 and empty before the first version. */
  readonly desiredVersion: number
  readonly desiredHash: string
  readonly version: number
  readonly hash: string
  readonly appliedAt: string | null
  readonly tookMs: number | null
  readonly rejected: {
    readonly version: number
    readonly at: string
    readonly problems: readonly NodeProblem[]
  } | null
  /** What the node's software cannot do and the desired version needs: it keeps what it runs. */
  readonly missingFeatures: readonly ViewNeed[]
  readonly softwareVersion: string
  readonly features: readonly string[]
  readonly bootId: string
  readonly workers: number
  /** An operator wants it to take no new connections. */
  readonly isDraining: boolean
  /** What is still open; null while nothing of the node drains, or it is not connected. */
  readonly load: NodeLoad | null
  /** Of the connected node, in whole seconds. */
  readonly uptimeSeconds: number | null
  /** The node's clock less ours; positive: the node is ahead. */
  readonly clockOffsetMs: number | null
  readonly certificateExpiresAt: string
  /** It has to join again, and may do so under its name. */
  readonly isCertificateExpired: boolean
  readonly enrolledAt: string
  readonly address: string
}

/** What is known of a node only while it is connected. */
export interface LiveNode {
  /** Whose connection it is: a late goodbye of an older one must not count. */
  readonly session: object
  readonly connectedAtMs: number
  /** By the monotonic clock, as how long it is up must not follow a clock that is set. */
  readonly startedAtMs: number
  clockOffsetMs: number | undefined
  /** Undefined while the node told nothing, since nothing of it drains. */
  load: NodeLoad | undefined
  lastSeenAtMs: number
  savedAtMs: number
}

/** `newest`: what it should run; undefined before the first version. */
export function presentNode(
  row: NodeRecord,
  live: LiveNode | undefined,
  newest: PublishedVersion | undefined,
  nowMs: number,
): NodeView {
  const labels = readLabels(row.labels)
  // The cast holds: only the registry writes the column.
  const features = JSON.parse(row.features) as string[]
  const view = newest?.viewFor(labels)
  const desired = { version: Number(newest?.number ?? 0n), hash: view?.hash ?? '' }
  const missingFeatures =
    live === undefined
      ? []
      : (view?.needs ?? []).filter(({ feature }) => !features.includes(feature))
  return {
    id: row.id,
    name: row.name,
    labels,
    state: stateOf(row, live !== undefined, desired, missingFeatures.length > 0),
    isConnected: live !== undefined,
    connectedAt: toIso(live?.connectedAtMs ?? row.connected_at_ms),
    lastSeenAt: toIso(live?.lastSeenAtMs ?? row.last_seen_at_ms),
    desiredVersion: desired.version,
    desiredHash: desired.hash,
    version: row.version,
    hash: row.hash,
    appliedAt: toIso(row.applied_at_ms),
    tookMs: row.took_ms,
    rejected: toRejection(row),
    missingFeatures,
    softwareVersion: row.software_version,
    features,
    bootId: row.boot_id,
    workers: row.workers,
    isDraining: row.is_draining === 1,
    load: live?.load ?? null,
    uptimeSeconds:
      live === undefined ? null : Math.round((performance.now() - live.startedAtMs) / 1_000),
    clockOffsetMs: live?.clockOffsetMs === undefined ? null : Math.round(live.clockOffsetMs),
    certificateExpiresAt: new Date(row.certificate_expires_at_ms).toISOString(),
    isCertificateExpired: row.certificate_expires_at_ms <= nowMs,
    enrolledAt: new Date(row.enrolled_at_ms).toISOString(),
    address: row.address,
  }
}

function stateOf(
  row: NodeRecord,
  isConnected: boolean,
  desired: { readonly version: number; readonly hash: string },
  lacksFeatures: boolean,
): NodeState {
  if (row.revoked_at_ms !== null) return 'revoked'
  if (!isConnected) return 'lost'
  if (row.is_draining === 1) return 'draining'
  if (row.version === desired.version && row.hash === desired.hash) return 'in-sync'
  const isRefused = desired.hash !== '' && row.rejected_hash === desired.hash
  return isRefused || lacksFeatures ? 'rejected' : 'updating'
}

function toRejection(row: NodeRecord): NodeView['rejected'] {
  if (row.rejected_version === null || row.rejected_at_ms === null) return null
  return {
    version: row.rejected_version,
    at: new Date(row.rejected_at_ms).toISOString(),
    // As above.
    problems: JSON.parse(row.rejected_problems ?? '[]') as NodeProblem[],
  }
}

function toIso(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString()
}
