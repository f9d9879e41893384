/** A form for any object schema: required fields first, the others folded. */
import type { Problem } from '../api/client.ts'
import {
  alternativeOf,
  editableFields,
  emptyValue,
  type FormValue,
  type Schema,
  wordsOf,
} from './schema.ts'
import { SchemaField } from './schema-field.tsx'

export interface FormProps {
  readonly schema: Schema
  readonly value: FormValue
  readonly onChange: (value: FormValue) => void
  readonly problems: readonly Problem[]
  /** Fields that are shown, since they exist already, but not changed. */
  readonly fixed?: readonly string[]
  /** Shown at once although they may be left out. */
  readonly prominent?: readonly string[]
  /** Names that a field may have, for completion. */
  readonly suggestions?: Readonly<Record<string, readonly string[]>>
}

export function SchemaForm(props: FormProps) {
  const { value, onChange, problems, fixed = [], prominent = [] } = props
  const schema = alternativeOf(props.schema, value)
  const tag = props.schema.discriminator?.propertyName
  const fields = editableFields(schema).filter(([name]) => name !== tag)
  const isFirst = (name: string) =>
    (schema.required?.includes(name) ?? false) ||
    prominent.includes(name) ||
    schema.properties?.[name]?.writeOnly === true
  const show = ([name, field]: readonly [string, Schema]) => (
    <SchemaField
      key={name}
      name={name}
      path={name}
      schema={field}
      value={value[name]}
      isRequired={schema.required?.includes(name) ?? false}
      isFixed={fixed.includes(name)}
      problems={problems}
      suggestions={props.suggestions?.[name]}
      onChange={(next) => onChange({ ...value, [name]: next })}
    />
  )
  const others = fields.filter(([name]) => !isFirst(name))
  const hasProblem = others.some(([name]) => problems.some(({ field }) => field.startsWith(name)))
  return (
    <>
      {tag === undefined ? null : <Alternatives {...props} tag={tag} />}
      {fields.filter(([name]) => isFirst(name)).map(show)}
      {others.length === 0 ? null : (
        <details open={hasProblem || undefined}>
          <summary>More fields</summary>
          <div className="stack">{others.map(show)}</div>
        </details>
      )}
    </>
  )
}

function Alternatives(props: FormProps & { readonly tag: string }) {
  const { schema, value, onChange, tag, fixed = [] } = props
  const choose = (chosen: string) => {
    const next = alternativeOf(schema, { [tag]: chosen })
    const { name, labels } = value
    onChange({
      ...emptyValue(next),
      name,
      ...(labels === undefined ? {} : { labels }),
      [tag]: chosen,
    })
  }
  return (
    <div className="field">
      <label htmlFor={`field-${tag}`}>{wordsOf(tag)}</label>
      <select
        id={`field-${tag}`}
        value={String(value[tag])}
        disabled={fixed.includes(tag)}
        onChange={(event) => choose(event.target.value)}
      >
        {schema.oneOf?.map((one) => {
          const chosen = one.properties?.[tag]?.enum?.[0] ?? ''
          return (
            <option key={chosen} value={chosen}>
              {chosen}
            </option>
          )
        })}
      </select>
    </div>
  )
}
