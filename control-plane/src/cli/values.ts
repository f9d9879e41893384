/** How values are written for people, and how durations and labels are read from the command line. */
import { InvalidArgumentError } from 'commander'

const unitMs: Readonly<Record<string, number>> = Object.freeze({
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
})

/** `90s`, `15m`, `1h`, `7d` to milliseconds. */
export function parseDuration(text: string): number {
  const [, amount, unit] = /^([1-9]\d{0,8})([smhd])$/.exec(text) ?? []
  const factor = unit === undefined ? undefined : unitMs[unit]
  if (amount === undefined || factor === undefined) {
    throw new InvalidArgumentError('It is not a duration like 90s, 15m, 1h or 7d.')
  }
  return Number(amount) * factor
}

/** Collects `--label key=value`, given any number of times. */
export function collectLabel(
  text: string,
  labels: Readonly<Record<string, string>>,
): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It is not a label like region=north.')
  return { ...labels, [text.slice(0, at)]: text.slice(at + 1) }
}

/** `team=a,env=prod`. */
export function parseSelector(text: string): Record<string, string> {
  return text
    .split(',')
    .reduce<Record<string, string>>((labels, label) => collectLabel(label, labels), {})
}

export function collect(text: string, texts: readonly string[] = []): string[] {
  return [...texts, text]
}

export function parseCount(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new InvalidArgumentError('It is not a whole number above 0.')
  }
  return count
}

/** A point in time as the API takes it: a duration means that long ago. */
export function parseTime(text: string): string {
  if (/^\d+[smhd]$/.test(text)) return new Date(Date.now() - parseDuration(text)).toISOString()
  const time = new Date(/^\d+$/.test(text) ? Number(text) : text)
  if (Number.isNaN(time.getTime())) {
    throw new InvalidArgumentError(
      'It is neither a time like 2026-01-31T12:00:00Z nor an age like 1h.',
    )
  }
  return time.toISOString()
}

/** `2026-01-31 12:00:00Z`; times of the API are ISO text in UTC. */
export function timeText(time: unknown): string {
  if (typeof time !== 'string') return ''
  return time.replace('T', ' ').replace(/\.\d+Z$/, 'Z')
}

export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return unit === 0 ? `${bytes} B` : `${value.toFixed(1)} ${units[unit]}`
}

export function millisecondsText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return ''
  return ms < 10 ? `${ms.toFixed(2)} ms` : `${ms.toFixed(0)} ms`
}

export function labelsText(labels: unknown): string {
  if (typeof labels !== 'object' || labels === null) return ''
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}
