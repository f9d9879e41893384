/** A question about telemetry that cannot be answered as asked; the text is meant for the one who asked. */
export class TelemetryQueryError extends Error {
  override readonly name = 'TelemetryQueryError'
  readonly field: string
  readonly reason: string

  constructor(field: string, reason: string) {
    super(`${field} ${reason}`)
    this.field = field
    this.reason = reason
  }
}
