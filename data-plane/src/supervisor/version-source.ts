/** The seam to where a node's versions come from: a control plane, or a file. A node has one source. */
import type { Load } from '@sluice/proto'
import type { ReportOutlet } from './report-outlet.ts'
import type { VersionKeeper } from './version-keeper.ts'
import type { VersionOutcome, VersionSwitch } from './version-switch.ts'

/** What a source asks and wants of the node beside its versions. */
export interface NodeSeam {
  /** What is open now; it is asked once a second. */
  readonly load: () => Load
  /** Keep more log lines for a while; a time of 0 ends it. */
  readonly raiseLogs: (linesPerSecond: number, forMs: number) => void
}

export interface VersionSource {
  /** Keeps applied versions on the disk; undefined where the source itself outlives the process. */
  readonly keeper: VersionKeeper | undefined
  readonly outlet: ReportOutlet
  /** Empty while, or where, nobody has given the node an id. */
  readonly nodeId: string
  /** Null: there is none, on purpose. */
  readonly controlPlane: 'connected' | 'disconnected' | null
  /** What is wrong with the source now, for operators. */
  readonly problems: readonly string[]
  /** What the disk does not take at the moment, for operators. */
  readonly diskProblems: readonly string[]
  /** Begins to offer versions. */
  start(versions: VersionSwitch, node: NodeSeam): Promise<void>
  /** Looks for a newer version, as far as that is not done without asking. */
  reload(): Promise<void>
  /** What became of an offer. */
  tell(outcome: VersionOutcome): void
  /** Comes last: what the workers reported is out. */
  stop(): Promise<void>
}
