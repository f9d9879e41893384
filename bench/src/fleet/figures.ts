/** What was measured, what is to be reached, and both as a table. */
import { columns } from '../report.ts'
import type { FleetSettings } from './settings.ts'

export interface FleetFigures {
  readonly connectSeconds: number
  readonly changeP50Seconds: number
  readonly changeP99Seconds: number
  readonly changeMaxSeconds: number
  readonly changeBytes: number
  readonly fullUpdates: number
  /** From the moment at which the new process takes requests. */
  readonly restartSeconds: number
  /** From the kill of the old one. */
  readonly restartWithDownTimeSeconds: number
  readonly telemetryCores: number
  readonly telemetryLost: number
  readonly memoryMib: number
  readonly writeP50Ms: number
  readonly writeP99Ms: number
  readonly coldStartSeconds: number
  readonly coldStartFromDiskSeconds: number
}

interface Line {
  readonly what: string
  readonly measured: string
  readonly bound: string
  readonly isMet: boolean | undefined
}

const MANY_NODES = 2_000

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

export function linesOf(figures: FleetFigures, { nodes }: FleetSettings): Line[] {
  const isMany = nodes > MANY_NODES
  const bound = (few: number, many: number) => (isMany ? many : few)
  const line = (
    what: string,
    value: number,
    digits: number,
    unit: string,
    most?: number,
  ): Line => ({
    what,
    measured: `${value.toFixed(digits)} ${unit}`,
    bound: most === undefined ? '' : `at most ${most}`,
    isMet: most === undefined ? undefined : value <= most,
  })
  return [
    line('all nodes connected and in sync at first', figures.connectSeconds, 2, 's'),
    line('one router changed, applied: p50', figures.changeP50Seconds, 3, 's'),
    line('one router changed, applied: p99', figures.changeP99Seconds, 3, 's', bound(0.7, 4)),
    line('one router changed, applied: last node', figures.changeMaxSeconds, 3, 's'),
    line('bytes for it, each node', figures.changeBytes, 0, 'B', 2_048),
    line('all in sync after a restart', figures.restartSeconds, 2, 's', bound(8, 60)),
    line('the same with the down time', figures.restartWithDownTimeSeconds, 2, 's'),
    line(
      'telemetry, share of a core',
      figures.telemetryCores * 100,
      0,
      '%',
      isMany ? undefined : 50,
    ),
    line('telemetry, requests lost', figures.telemetryLost, 0, '', 0),
    line('writes of the API meanwhile: p99', figures.writeP99Ms, 0, 'ms', isMany ? undefined : 150),
    line('memory of the control plane', figures.memoryMib, 0, 'MiB', bound(400, 1_536)),
    line('cold start of a node, with joining', figures.coldStartSeconds, 2, 's', 3),
    line('cold start of a node, from its disk', figures.coldStartFromDiskSeconds, 2, 's', 3),
  ]
}

export function render(figures: FleetFigures, settings: FleetSettings): string {
  const { nodes, routers } = settings
  const rows = linesOf(figures, settings).map(({ what, measured, bound, isMet }) => {
    const verdict = isMet === undefined ? '' : isMet ? 'met' : 'NOT met'
    return [what, measured, bound, verdict]
  })
  return ['', `${nodes} nodes, ${routers} routers`, '', ...columns(rows), '', ''].join('\n')
}
