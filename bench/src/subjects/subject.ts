/** A proxy under test: one process that handles requests, alone with its helpers on the proxies' CPU. */
import type { Certificate } from '../certificate.ts'
import type { Machine } from '../requirements.ts'
import type { Protocol } from '../scenarios.ts'

export type SubjectName = 'sluice' | 'nginx' | 'haproxy'

export interface Subject {
  readonly name: SubjectName
  readonly ports: Readonly<Record<Protocol, number>>
  /** The process that handles requests. */
  readonly worker: number
  /** Ours alone has one that works beside it. */
  readonly supervisor?: number
}

export interface Surroundings {
  readonly directory: string
  readonly machine: Machine
  readonly certificate: Certificate
  readonly originPort: number
}
