/** Values of options, each read strictly: what is no such value is a mistake in usage. */
import { InvalidArgumentError } from 'commander'

export function readCount(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('a whole number from 1 is needed')
  return value
}

export function readNumber(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('a number from 0 is needed')
  return value
}

/** `0.01%` or `0.0001`. */
export function readShare(text: string): number {
  const matched = /^([\d.]+)\s*(%?)$/.exec(text)
  const value = Number(matched?.[1] ?? Number.NaN) / (matched?.[2] === '%' ? 100 : 1)
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('a share is needed, as in 0.01%')
  return value
}

/** `0`, `500ms`, `1s`, `15m` in milliseconds; a bare number is seconds. */
export function readDuration(text: string): number {
  const matched = /^([\d.]+)(us|ms|s|m|h)?$/.exec(text)
  const units = { us: 0.001, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const
  const unit = (matched?.[2] ?? 's') as keyof typeof units
  const value = Number(matched?.[1] ?? Number.NaN) * units[unit]
  if (!Number.isFinite(value))
    throw new InvalidArgumentError('a time is needed, as in 500ms, 1s, 15m')
  return value
}

export function readList(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.some((name) => name === ''))
    throw new InvalidArgumentError('names are needed, separated by commas')
  return names
}

/** As taskset takes them. */
export function readProcessors(text: string): string {
  if (!/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(text))
    throw new InvalidArgumentError('CPUs are needed, as in 0 or 1,2-3')
  return text
}

export interface Gates {
  readonly isNoisyFailure: boolean
  readonly isTieFailure: boolean
  /** Share by which the subject may be worse than the reference, or new than old. */
  readonly regression?: number
}

/** `noisy`, `tie`, `regression=5%`, separated by commas. */
export function readGates(text: string): Gates {
  const gates = { isNoisyFailure: false, isTieFailure: false }
  let regression: number | undefined
  for (const one of readList(text)) {
    const [name, value] = one.split('=')
    if (name === 'noisy') gates.isNoisyFailure = true
    else if (name === 'tie') gates.isTieFailure = true
    else if (name === 'regression' && value !== undefined) regression = readShare(value)
    else throw new InvalidArgumentError('noisy, tie or regression=SHARE are needed')
  }
  return { ...gates, ...(regression === undefined ? {} : { regression }) }
}
