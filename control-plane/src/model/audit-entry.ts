/** What the audit log keeps of an event, in bounds and without secrets. */
import { type FieldDifference, fieldDifferences } from './difference.ts'
import { limits } from './limits.ts'

/** How somebody came to do something, and from where. */
export interface Origin {
  readonly via: 'admin-token' | 'session' | 'api-token' | 'join-token' | 'control-plane' | 'nothing'
  readonly address: string
}

export interface AuditChange {
  readonly kind: string
  readonly name: string
  readonly change: string
  readonly fields: readonly FieldDifference[]
}

export interface AuditEntry extends Origin {
  readonly who: string
  readonly action: string
  readonly object: string
  readonly changes: readonly AuditChange[]
  readonly result: 'done' | 'refused' | 'failed'
}

/** Of something that is no resource, between two states of what answers show of it. */
export function changeOf(
  kind: string,
  name: string,
  before: object | undefined,
  after: object | undefined,
): AuditChange {
  const change = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'
  return { kind, name, change, fields: fieldDifferences(before ?? {}, after ?? {}) }
}

/** What is too much is left out, and said to be: versions have it whole. */
export function bounded(changes: readonly AuditChange[], total = changes.length): AuditChange[] {
  const shown = changes.slice(0, limits.auditChangesMax).map((change) => ({
    ...change,
    fields: change.fields.slice(0, limits.auditFieldsMax).map(shortened),
  }))
  const omitted = total - shown.length
  if (omitted <= 0) return shown
  return [...shown, { kind: '', name: `${omitted} more`, change: 'omitted', fields: [] }]
}

function shortened(difference: FieldDifference): FieldDifference {
  const short = (value: unknown) => {
    const { length } = JSON.stringify(value)
    return length <= limits.auditValueCharactersMax ? value : `(${length} characters)`
  }
  const { field, before, after } = difference
  return {
    field,
    ...(before !== undefined && { before: short(before) }),
    ...(after !== undefined && { after: short(after) }),
  }
}
