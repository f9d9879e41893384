/** Numbers with units, and times in the browser's zone. */

const counts = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' })
const clock = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

export interface Quantity {
  readonly value: string
  readonly unit: string
}

export function count(value: number): string {
  return counts.format(value)
}

/** Three digits that mean something. */
function digits(value: number): string {
  if (Number.isInteger(value)) return String(value)
  const places = Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.abs(value)))))
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.min(places, 2))
}

function scaled(value: number, base: number, units: readonly string[]): Quantity {
  let size = value
  let index = 0
  while (size >= base && index < units.length - 1) {
    size /= base
    index += 1
  }
  return { value: digits(size), unit: units[index] ?? '' }
}

export function requestRate(perSecond: number): Quantity {
  return scaled(perSecond, 1_000, ['req/s', 'k req/s', 'M req/s'])
}

export function byteRate(perSecond: number): Quantity {
  return scaled(perSecond, 1_000, ['B/s', 'kB/s', 'MB/s', 'GB/s'])
}

export function byteCount(bytes: number): Quantity {
  return scaled(bytes, 1_000, ['B', 'kB', 'MB', 'GB', 'TB'])
}

export function milliseconds(ms: number): Quantity {
  return ms >= 1_000 ? { value: digits(ms / 1_000), unit: 's' } : { value: digits(ms), unit: 'ms' }
}

export function percent(share: number): Quantity {
  return { value: digits(share * 100), unit: '%' }
}

export function text({ value, unit }: Quantity): string {
  return `${value} ${unit}`
}

export function exactTime(iso: string): string {
  return `${exact.format(new Date(iso))} · ${iso}`
}

export function clockTime(iso: string): string {
  return clock.format(new Date(iso))
}

const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
]

export function relativeTime(iso: string, nowMs = Date.now()): string {
  const seconds = (Date.parse(iso) - nowMs) / 1_000
  const [unit, size] = steps.find(([, one]) => Math.abs(seconds) >= one) ?? ['second', 1]
  return relative.format(Math.round(seconds / size), unit)
}

export function duration(seconds: number): string {
  const [unit, size] = steps.find(([, one]) => seconds >= one) ?? ['second', 1]
  const whole = Math.floor(seconds / size)
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`
}
