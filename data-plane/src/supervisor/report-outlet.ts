/** Where the merged reports of the workers go. There is one outlet per node. */
import type { TrafficDelta } from '../worker-protocol.ts'
import type { MergedSecond } from './log-merge.ts'

export interface ReportOutlet {
  addTraffic(traffic: readonly TrafficDelta[]): void
  addSecond(second: MergedSecond): void
  /** Once a second. */
  tick(): void
  /** Nothing more is added. */
  finish(): Promise<void>
  figures(): OutletFigures
}

/** For /metrics. */
export interface OutletFigures {
  readonly telemetryRowsWaiting: number
  readonly telemetryRowsCoarsened: number
  readonly telemetryRequestsRefused: number
  readonly logLinesSent: number
  readonly logLinesWaiting: number
  readonly logLinesDropped: number
}

/** The outlet of a node on its own: nobody collects, so nothing is kept, and lines are counted as dropped. */
export class LocalOutlet implements ReportOutlet {
  #linesDropped = 0

  /** Its totals are in /metrics already. */
  addTraffic(): void {}

  addSecond({ lines }: MergedSecond): void {
    this.#linesDropped += lines.length
  }

  tick(): void {}

  async finish(): Promise<void> {}

  figures(): OutletFigures {
    return {
      telemetryRowsWaiting: 0,
      telemetryRowsCoarsened: 0,
      telemetryRequestsRefused: 0,
      logLinesSent: 0,
      logLinesWaiting: 0,
      logLinesDropped: this.#linesDropped,
    }
  }
}
