/** Times and durations as query parameters. */
import { Type } from 'typebox'
import { ApiError } from './problem-details.ts'

export const TimeParameter = Type.Optional(
  Type.String({ maxLength: 40, description: 'ISO 8601, or milliseconds since the epoch' }),
)

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }
// A date, or a date and a time with its zone: without one, the answer would depend on where it is asked.
const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** ISO 8601, or milliseconds since the epoch. */
export function parseTime(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  // A "+" in a query means a space, unless it was encoded.
  const iso = text.replace(' ', '+')
  const timeMs = isoTime.test(iso) ? Date.parse(iso) : Number.NaN
  if (!Number.isNaN(timeMs)) return timeMs
  throw refuse(field, 'is not a time like "2026-01-31T12:00:00Z" or milliseconds since the epoch')
}

/** Like 1m, 5m, 1h or 1d. */
export function parseDuration(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, count, unit = ''] = /^([1-9]\d{0,6})([mhd])$/.exec(text) ?? []
  const factor = unitMs[unit]
  if (count === undefined || factor === undefined) {
    throw refuse(field, 'is not a duration in whole minutes like "1m", "5m", "1h" or "1d"')
  }
  return Number(count) * factor
}

function refuse(field: string, reason: string): ApiError {
  return new ApiError(400, `${field} ${reason}`, [{ kind: '', name: '', field, reason }])
}
