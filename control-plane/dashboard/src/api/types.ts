/** What the admin API answers, as far as pages read it. */
import type { Problem } from './client.ts'

export interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
}

export type NodeState = 'in-sync' | 'updating' | 'rejected' | 'draining' | 'lost' | 'revoked'

export interface NodeView {
  readonly id: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly state: NodeState
  readonly isConnected: boolean
  readonly connectedAt: string | null
  readonly lastSeenAt: string | null
  readonly desiredVersion: number
  readonly version: number
  readonly appliedAt: string | null
  readonly tookMs: number | null
  readonly rejected: {
    readonly version: number
    readonly at: string
    readonly problems: readonly Problem[]
  } | null
  readonly missingFeatures: readonly { readonly feature: string }[]
  readonly softwareVersion: string
  readonly workers: number
  readonly isDraining: boolean
  readonly load: { readonly connections?: number; readonly requests?: number } | null
  readonly uptimeSeconds: number | null
  readonly clockOffsetMs: number | null
  readonly certificateExpiresAt: string
  readonly isCertificateExpired: boolean
  readonly enrolledAt: string
  readonly address: string
}

export interface Status {
  readonly version: number
  readonly hash: string
  readonly publishedAt: string | null
  readonly nodes: Readonly<Record<'total' | 'connected' | 'inSync' | 'rejected' | 'lost', number>>
  readonly counts: Readonly<Record<string, number>>
  readonly startedAt: string
  readonly softwareVersion: string
}

export interface Resource {
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  readonly updatedAt?: string
  readonly [field: string]: unknown
}

export interface VersionSummary {
  readonly number: number
  readonly hash: string
  readonly author: string
  readonly message: string
  readonly createdAt: string
}

export interface Difference {
  readonly kind: string
  readonly name: string
  readonly change: 'added' | 'changed' | 'removed'
  readonly fields: readonly {
    readonly field: string
    readonly before?: unknown
    readonly after?: unknown
  }[]
}

/** For each series and measure a number for each step of the range. */
export interface Columns {
  readonly from: string
  readonly to: string
  readonly stepMs: number
  readonly series: readonly {
    readonly key: { readonly node?: string }
    readonly columns: Readonly<Record<string, readonly (number | null)[]>>
  }[]
}

export interface Heatmap {
  readonly boundsMs: readonly number[]
  readonly columns: readonly { readonly time: string; readonly counts: readonly number[] }[]
}

export interface LogLine {
  readonly id: string
  readonly time: string
  readonly node: string
  readonly router: string
  readonly service: string
  readonly server: string
  readonly clientAddress: string
  readonly method: string
  readonly host: string
  readonly path: string
  readonly protocol: string
  readonly status: number
  readonly outcome: string
  readonly bytesOut: number
  readonly durationMs: number
  readonly firstByteMs: number | null
  readonly attempts: number
  readonly userAgent: string
  readonly weight: number
}

export interface Explanation {
  readonly version: number
  readonly outcome: string
  readonly reason: string
  readonly entryPoint: { readonly name: string } | null
  readonly router: { readonly name: string } | null
  readonly nearRouters: readonly { readonly name: string; readonly reason: string }[]
  readonly service: string | null
  readonly servers: readonly { readonly url: string; readonly share: number }[]
  readonly certificate: { readonly name: string } | null
}
