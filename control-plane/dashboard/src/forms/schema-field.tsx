/** One field, as its schema says; what the API found wrong with it is below it. */
import { useId } from 'react'
import type { Problem } from '../api/client.ts'
import { editableFields, emptyField, type FormValue, type Schema, wordsOf } from './schema.ts'
import { ListText, PairsText } from './text-values.tsx'

export interface FieldProps {
  readonly name: string
  /** As problems name it: `match.hosts[0]`. */
  readonly path: string
  readonly schema: Schema
  readonly value: unknown
  readonly isRequired: boolean
  readonly isFixed?: boolean | undefined
  readonly problems: readonly Problem[]
  readonly suggestions?: readonly string[] | undefined
  readonly onChange: (value: unknown) => void
}

export function SchemaField(props: FieldProps) {
  const { schema } = props
  if (schema.type === 'object' && schema.properties !== undefined) return <ObjectField {...props} />
  if (schema.type === 'array' && schema.items?.type === 'object') return <PartsField {...props} />
  return <PlainField {...props} />
}

function ObjectField({ name, path, schema, value, problems, onChange }: FieldProps) {
  const current = (value ?? {}) as FormValue
  return (
    <fieldset>
      <legend>{wordsOf(name)}</legend>
      {schema.description === undefined ? null : (
        <small className="hint">{schema.description}</small>
      )}
      <div className="parts">
        {editableFields(schema).map(([field, fieldSchema]) => (
          <SchemaField
            key={field}
            name={field}
            path={`${path}.${field}`}
            schema={fieldSchema}
            value={current[field]}
            isRequired={schema.required?.includes(field) ?? false}
            problems={problems}
            onChange={(next) => onChange({ ...current, [field]: next })}
          />
        ))}
      </div>
    </fieldset>
  )
}

function PartsField({ name, path, schema, value, problems, onChange }: FieldProps) {
  const items = schema.items ?? {}
  const parts = (value ?? []) as readonly unknown[]
  const one = name.replace(/s$/, '')
  return (
    <fieldset>
      <legend>{wordsOf(name)}</legend>
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their place.
        <div className="part" key={index}>
          <ObjectField
            name={`${one} ${index + 1}`}
            path={`${path}[${index}]`}
            schema={items}
            value={part}
            isRequired
            problems={problems}
            onChange={(next) => onChange(parts.with(index, next))}
          />
          <button
            type="button"
            aria-label={`Remove ${one} ${index + 1}`}
            onClick={() => onChange(parts.filter((_, other) => other !== index))}
          >
            Remove
          </button>
        </div>
      ))}
      <div>
        <button type="button" onClick={() => onChange([...parts, emptyField(items)])}>
          Add a {one}
        </button>
      </div>
      <Problems id={`${path}-problems`} problems={problemsAt(problems, path)} />
    </fieldset>
  )
}

function PlainField(props: FieldProps) {
  const { name, path, schema, isRequired, problems } = props
  const id = useId()
  const own = problemsAt(problems, path)
  const hint = [schema.description, defaultText(schema)].filter(Boolean).join('; ')
  const described = {
    id,
    'aria-invalid': own.length > 0,
    'aria-describedby': `${id}-hint ${id}-problems`,
  }
  return (
    <div className="field">
      {schema.type === 'boolean' ? (
        <div className="check">
          <Input {...props} described={described} />
          <label htmlFor={id}>{wordsOf(name)}</label>
        </div>
      ) : (
        <>
          <label htmlFor={id}>
            {wordsOf(name)} {isRequired ? <span className="quiet">(required)</span> : null}
          </label>
          <Input {...props} described={described} />
        </>
      )}
      <small id={`${id}-hint`}>{hint}</small>
      <Problems id={`${id}-problems`} problems={own} />
    </div>
  )
}

interface Described {
  readonly id: string
  readonly 'aria-invalid': boolean
  readonly 'aria-describedby': string
}

function Input(props: FieldProps & { readonly described: Described }) {
  const { schema, value, onChange, described, isRequired, isFixed, suggestions } = props
  if (schema.enum !== undefined) {
    return (
      <select
        {...described}
        value={String(value ?? schema.default ?? schema.enum[0])}
        onChange={(event) => onChange(event.target.value)}
      >
        {schema.enum.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    )
  }
  switch (schema.type) {
    case 'boolean': {
      const isOn = value ?? schema.default
      const toggle = () => onChange(isOn !== true)
      return <input {...described} type="checkbox" checked={isOn === true} onChange={toggle} />
    }
    case 'integer':
    case 'number':
      return (
        <input
          {...described}
          type="number"
          min={schema.minimum}
          max={schema.maximum}
          placeholder={String(schema.default ?? '')}
          value={value === undefined ? '' : String(value)}
          onChange={({ target }) =>
            onChange(target.value === '' ? undefined : Number(target.value))
          }
        />
      )
    case 'array':
      return <ListText described={described} value={value} onChange={onChange} />
    case 'object':
      return <PairsText described={described} value={value} onChange={onChange} />
    default: {
      const shared = {
        ...described,
        required: isRequired,
        readOnly: isFixed === true,
        value: String(value ?? ''),
      }
      const change = ({ target }: { readonly target: { readonly value: string } }) =>
        onChange(target.value === '' && !isRequired ? undefined : target.value)
      if ((schema.maxLength ?? 0) > 10_000) return <textarea {...shared} onChange={change} />
      return (
        <>
          <input {...shared} list={`${described.id}-names`} onChange={change} />
          <datalist id={`${described.id}-names`}>
            {suggestions?.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </>
      )
    }
  }
}

function Problems({
  id,
  problems,
}: {
  readonly id: string
  readonly problems: readonly Problem[]
}) {
  return (
    <div id={id}>
      {problems.map(({ reason, hint }) => (
        <div className="problem" key={reason}>
          {reason}
          {hint === undefined ? '' : ` (${hint})`}
        </div>
      ))}
    </div>
  )
}

/** At the field itself, or at an item of a list that is written as lines. */
function problemsAt(problems: readonly Problem[], path: string): readonly Problem[] {
  return problems.filter(
    ({ field }) =>
      field === path || (/^\[\d+\]$/.test(field.slice(path.length)) && field.startsWith(path)),
  )
}

function defaultText(schema: Schema): string {
  const { default: standard, type } = schema
  const isPlain = type === 'integer' || type === 'number' || typeof standard === 'string'
  return standard !== undefined && isPlain ? `default ${String(standard)}` : ''
}
