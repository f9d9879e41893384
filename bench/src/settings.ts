/** The flags of `npm run bench:engine`. */
import { parseArgs } from 'node:util'
import { SCENARIOS, type Scenario } from './scenarios.ts'

export interface Settings {
  readonly scenarios: readonly Scenario[]
  readonly rounds: number
  readonly seconds: number
  readonly json: string | undefined
  readonly memory: boolean
  readonly hosts: boolean
}

const KEYS = SCENARIOS.map(({ key }) => key)

export const HELP = `Compares the engine with nginx and HAProxy: CPU per request, one worker, the same CPU.
  --rounds N      rounds; each measures every proxy once (default 5)
  --seconds N     seconds of each measurement (default 5)
  --only KEYS     some of ${KEYS.join(',')}; or none
  --json FILE     write the figures to FILE
  --memory        also measure the worker's private memory
  --hosts         also compare 10,000 configured hosts with one
`

/** Undefined: help was asked for. */
export function readSettings(args: readonly string[]): Settings | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '5' },
      only: { type: 'string', default: KEYS.join(',') },
      json: { type: 'string' },
      memory: { type: 'boolean', default: false },
      hosts: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  return {
    scenarios: readScenarios(values.only),
    rounds: readCount('--rounds', values.rounds),
    seconds: readCount('--seconds', values.seconds),
    json: values.json,
    memory: values.memory,
    hosts: values.hosts,
  }
}

function readScenarios(only: string): Scenario[] {
  if (only === 'none') return []
  const wanted = only.split(',')
  const unknown = wanted.filter((key) => !KEYS.some((known) => known === key))
  if (unknown.length > 0) {
    throw new Error(`--only ${unknown.join(',')}: the scenarios are ${KEYS.join(',')}, or none`)
  }
  return SCENARIOS.filter(({ key }) => wanted.includes(key))
}

function readCount(flag: string, text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new Error(`${flag} must be 1 or more`)
  return count
}
