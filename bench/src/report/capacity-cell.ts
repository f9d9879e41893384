/** A throughput and what is to be known of it, in one line: floor, spread, ratio or tie. */
import type { Cell } from '../summary/report-record.ts'
import { DASH, spread, whole } from './figures.ts'

export function capacityText(cell: Cell | undefined, reference: string): string {
  if (cell === undefined || cell.rps === null) return DASH
  const floor = cell.bound === 'generator' ? '≥' : ''
  return `${floor}${whole(cell.rps.median)} ${spread(cell.rps)} ${ratioText(cell, reference)}`.trim()
}

export function ratioText(cell: Cell, reference: string): string {
  if (cell.proxy === reference) return 'ref'
  if (cell.ratio === null) return ''
  return `${cell.isTie ? '~ ' : ''}x${cell.ratio.median.toFixed(2)}`
}
