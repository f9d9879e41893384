/** `--limit NAME=VALUE` and SLUICE_LIMIT_NAME=VALUE: which limits of a worker an operator changes. */
import {
  type Adjustable,
  adjustableLimits,
  brokenRelations,
  defaultLimits,
  type LimitChanges,
  type LimitName,
} from './limits.ts'

export const LIMIT_VARIABLE_PREFIX = 'SLUICE_LIMIT_'

interface Option extends Adjustable {
  readonly name: LimitName
  /** As flags have it: head-bytes-max. */
  readonly flagName: string
  readonly unit: string
}

const OPTIONS: readonly Option[] = Object.entries(adjustableLimits).map(([key, adjustable]) => {
  const name = key as LimitName
  return { name, flagName: toFlagName(name), unit: unitOf(name), ...adjustable }
})

/** A flag wins over the environment. Appends one sentence to `problems` for all that is wrong. */
export function readLimitChanges(
  flags: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string | undefined>>,
  problems: string[],
): LimitChanges {
  const changes: Partial<Record<LimitName, number>> = {}
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith(LIMIT_VARIABLE_PREFIX) || text === undefined) continue
    const flagName = variable.slice(LIMIT_VARIABLE_PREFIX.length).toLowerCase().replaceAll('_', '-')
    readOne({ place: variable, flagName, text }, changes, problems)
  }
  for (const [flagName, text] of Object.entries(flags)) {
    readOne({ place: `--limit ${flagName}`, flagName, text }, changes, problems)
  }
  for (const { low, high, why } of brokenRelations(changes)) {
    const value = (name: LimitName) => `${toFlagName(name)}=${changes[name] ?? defaultLimits[name]}`
    const bound = typeof high === 'number' ? high : value(high)
    problems.push(`--limit: ${value(low)} must be below ${bound}: ${why}`)
  }
  return changes
}

interface GivenLimit {
  readonly place: string
  readonly flagName: string
  readonly text: string
}

function readOne(
  { place, flagName, text }: GivenLimit,
  changes: Partial<Record<LimitName, number>>,
  problems: string[],
): void {
  const option = OPTIONS.find((known) => known.flagName === flagName)
  if (option === undefined) {
    problems.push(`${place}: there is no limit of that name; --help lists them`)
    return
  }
  const { least, most, unit } = option
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) changes[option.name] = value
  else problems.push(`${place}: "${text}" is not a whole number from ${least} to ${most}${unit}`)
}

/** The part of `--help` below the flags. */
export function limitsHelp(): string {
  const lines = OPTIONS.map(({ name, flagName, unit, least, most, what }) => {
    const value = `${defaultLimits[name]}${unit}`
    return `  ${flagName.padEnd(28)}${value.padEnd(15)}${what} (${least} to ${most})`
  })
  const heading =
    'Limits of each worker, for --limit NAME=VALUE, or in the environment like ' +
    `${LIMIT_VARIABLE_PREFIX}HEAD_BYTES_MAX=VALUE. Defaults and what they bound:`
  return ['', heading, ...lines].join('\n')
}

function toFlagName(name: LimitName): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function unitOf(name: LimitName): string {
  if (name.endsWith('Ms')) return ' ms'
  return name.endsWith('BytesMax') ? ' bytes' : ''
}
