/** Adds up what rows of traffic measured, whatever they are rows of. */
import type { Measures } from '../store/telemetry-tables.ts'
import { LatencyHistogram } from './histogram.ts'

export class MeasureSum {
  informational = 0
  success = 0
  redirection = 0
  clientError = 0
  serverError = 0
  none = 0
  bytesIn = 0
  bytesOut = 0
  retries = 0
  readonly latency = new LatencyHistogram()
  readonly firstByte = new LatencyHistogram()
  /** Counts by code. */
  readonly breakdown = new LatencyHistogram()

  add(row: Measures): void {
    this.informational += row.informational
    this.success += row.success
    this.redirection += row.redirection
    this.clientError += row.client_error
    this.serverError += row.server_error
    this.none += row.none
    this.bytesIn += row.bytes_in
    this.bytesOut += row.bytes_out
    this.retries += row.retries
    this.latency.mergePacked(row.latency)
    this.firstByte.mergePacked(row.first_byte)
    this.breakdown.mergePacked(row.breakdown)
  }

  get requests(): number {
    return (
      this.informational +
      this.success +
      this.redirection +
      this.clientError +
      this.serverError +
      this.none
    )
  }

  toMeasures(): Measures {
    return {
      informational: this.informational,
      success: this.success,
      redirection: this.redirection,
      client_error: this.clientError,
      server_error: this.serverError,
      none: this.none,
      bytes_in: this.bytesIn,
      bytes_out: this.bytesOut,
      retries: this.retries,
      latency: this.latency.pack(),
      first_byte: this.firstByte.pack(),
      breakdown: this.breakdown.pack(),
    }
  }
}
