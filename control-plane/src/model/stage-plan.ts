/**
 * How a version is published in two steps: `canary=label:edge-1,hold=2m,max-5xx=1%,max-p99=+50%`. Nodes that
 * fit the selector get it first; after the hold, what they answered is compared with what the others did.
 */
import { isSelected, type Labels } from './labels.ts'
import { Refusal } from './refusal.ts'

export type NodeSelector =
  /** Nodes with the label; with any value of it when none is given. */
  | { readonly kind: 'label'; readonly key: string; readonly value: string | null }
  | { readonly kind: 'node'; readonly name: string }

export interface StagePlan {
  readonly name: string
  readonly selector: NodeSelector
  readonly holdMs: number
  /** By how much the share of 5xx answers may exceed that of the other nodes; null: not looked at. */
  readonly max5xx: number | null
  /** By how much p99 may exceed that of the other nodes, as a share of theirs; null: not looked at. */
  readonly maxP99: number | null
  /** Of the selected nodes together; fewer say nothing. */
  readonly minRequests: number
}

export const stageLimits = Object.freeze({
  textCharactersMax: 500,
  holdMsMin: 1_000,
  holdMsMax: 86_400_000,
  minRequestsMax: 1_000_000_000,
})

const namePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }
const minRequestsDefault = 100
const holdMsDefault = 120_000
const settings = ['hold', 'max-5xx', 'max-p99', 'min-requests']

/** Refuses a text that is no plan with what is wrong in it. */
export function parseStagePlan(text: string): StagePlan {
  const [first = '', ...others] = text.split(',').map((part) => part.trim())
  const [name = '', selector = ''] = splitOnce(first)
  if (!namePattern.test(name)) {
    throw refused(`has the name "${name}"; it takes lower-case letters, digits and "-"`)
  }
  const given = new Map<string, string>()
  for (const part of others) {
    const [key, value = ''] = splitOnce(part)
    if (!settings.includes(key)) {
      throw refused(`has the setting "${key}"; there are ${settings.join(', ')}`)
    }
    if (given.has(key)) throw refused(`has ${key} twice`)
    given.set(key, value)
  }
  return {
    name,
    selector: readSelector(selector),
    holdMs: readHold(given.get('hold')),
    max5xx: readShare('max-5xx', given.get('max-5xx'), /^\+?(\d+(?:\.\d+)?)%$/),
    maxP99: readShare('max-p99', given.get('max-p99'), /^\+(\d+(?:\.\d+)?)%$/),
    minRequests: readCount(given.get('min-requests')),
  }
}

export function isInStage(
  selector: NodeSelector,
  { name, labels }: { readonly name: string; readonly labels: Labels },
): boolean {
  if (selector.kind === 'node') return selector.name === name
  const { key, value } = selector
  return value === null ? Object.hasOwn(labels, key) : isSelected({ [key]: value }, labels)
}

export function describeSelector(selector: NodeSelector): string {
  if (selector.kind === 'node') return `node:${selector.name}`
  const { key, value } = selector
  return value === null ? `label:${key}` : `label:${key}=${value}`
}

function readSelector(text: string): NodeSelector {
  const [, kind, rest = ''] = /^(label|node):(.+)$/.exec(text) ?? []
  if (kind === 'node') return { kind, name: rest }
  if (kind !== 'label') {
    throw refused(`selects "${text}"; it takes label:KEY, label:KEY=VALUE or node:NAME`)
  }
  const [key, value = null] = splitOnce(rest)
  return { kind: 'label', key, value }
}

function readHold(text: string | undefined): number {
  if (text === undefined) return holdMsDefault
  const [, amount, unit = ''] = /^([1-9]\d{0,5})([smh])$/.exec(text) ?? []
  const holdMs = Number(amount) * (unitMs[unit] ?? Number.NaN)
  if (!(holdMs >= stageLimits.holdMsMin && holdMs <= stageLimits.holdMsMax)) {
    throw refused(`has hold=${text}; it takes 1s to 24h, like 90s or 5m`)
  }
  return holdMs
}

function readShare(name: string, text: string | undefined, pattern: RegExp): number | null {
  if (text === undefined) return null
  const [, percent] = pattern.exec(text) ?? []
  if (percent === undefined) {
    throw refused(
      `has ${name}=${text}; it takes a share like ${name === 'max-5xx' ? '1%' : '+50%'}`,
    )
  }
  return Number(percent) / 100
}

function readCount(text: string | undefined): number {
  if (text === undefined) return minRequestsDefault
  if (!/^\d{1,10}$/.test(text) || Number(text) > stageLimits.minRequestsMax) {
    throw refused(`has min-requests=${text}; it takes a whole number`)
  }
  return Number(text)
}

/** At the first "=": what follows may have others. */
function splitOnce(text: string): [string, string?] {
  const at = text.indexOf('=')
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

function refused(reason: string): Refusal {
  return new Refusal('malformed', [{ kind: '', name: '', field: 'stage', reason }])
}
