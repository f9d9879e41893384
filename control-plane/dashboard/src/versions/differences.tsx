/** What differs between two versions, field by field. */
import type { Difference } from '../api/types.ts'

const tones = { added: 'good', changed: 'warn', removed: 'bad' } as const

export function Differences({ of: all }: { readonly of: readonly Difference[] }) {
  if (all.length === 0) return <p className="quiet">Nothing differs.</p>
  return all.map(({ kind, name, change, fields }) => (
    <div className="change" key={`${kind}/${name}`}>
      <span className={`state ${tones[change]}`}>{change}</span>{' '}
      <b>
        {kind}/{name}
      </b>
      {fields.map(({ field, before, after }) => (
        <div className="mono" key={field}>
          {before === undefined ? null : (
            <div className="minus">
              − {field}: {shown(before)}
            </div>
          )}
          {after === undefined ? null : (
            <div className="plus">
              + {field}: {shown(after)}
            </div>
          )}
        </div>
      ))}
    </div>
  ))
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
