/** How commands tell what was changed, what would be, and what differs. */
import { Option } from 'commander'
import { type ProblemDetail, problemText } from './failures.ts'
import { printable } from './table.ts'

export interface Applied {
  readonly version?: number
  readonly draft?: string
  readonly changes: readonly Outcome[]
  readonly warnings?: readonly ProblemDetail[]
}

export interface Outcome {
  readonly kind: string
  readonly name: string
  readonly change: string
  readonly fields?: readonly FieldDifference[]
}

export interface FieldDifference {
  readonly field: string
  readonly before?: unknown
  readonly after?: unknown
}

/** What is longer, like a certificate, is cut off. */
const valueCharactersMax = 120

export function draftOption(): Option {
  return new Option('--draft <name>', 'in this draft instead of what is published')
}

export function appliedText({ version, draft, changes, warnings = [] }: Applied): string {
  return [
    ...changes.map((outcome) => `${objectText(outcome)} ${outcome.change}`),
    ...warnings.map((warning) => `warning: ${problemText(warning)}`),
    draft === undefined ? `version ${version}` : `draft ${draft}`,
  ].join('\n')
}

const signs: Readonly<Record<string, string>> = {
  created: '+',
  added: '+',
  replaced: '~',
  changed: '~',
  removed: '-',
}

/** `~ service/shop`, and each field that changes; what stays as it is is left out. */
export function differencesText(changes: readonly Outcome[]): string {
  const changed = changes.filter(({ change }) => signs[change] !== undefined)
  if (changed.length === 0) return 'no difference'
  return changed
    .flatMap((outcome) => {
      const sign = signs[outcome.change] ?? ''
      const fields = sign === '~' ? (outcome.fields ?? []) : []
      return [`${sign} ${objectText(outcome)}`, ...fields.map(fieldText)]
    })
    .join('\n')
}

function fieldText({ field, before, after }: FieldDifference): string {
  return `    ${field}: ${valueText(before)} -> ${valueText(after)}`
}

function valueText(value: unknown): string {
  if (value === undefined) return '(none)'
  const text = printable(JSON.stringify(value))
  return text.length > valueCharactersMax ? `${text.slice(0, valueCharactersMax)}...` : text
}

function objectText({ kind, name }: Outcome): string {
  return kind === name ? kind : `${kind}/${name}`
}
