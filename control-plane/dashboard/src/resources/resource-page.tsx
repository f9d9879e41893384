/** One resource: its form, the same as YAML, and the way to remove it. `new` is the name of one to be made. */
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { stringify } from 'yaml'
import { ApiProblem, call } from '../api/client.ts'
import type { Resource } from '../api/types.ts'
import { ForRole, useWrite } from '../app/session.tsx'
import { Card, Failure, PageFrame } from '../design/parts.tsx'
import {
  alternativeOf,
  emptyField,
  emptyValue,
  type FormValue,
  type Schema,
  useSchemas,
  writableOf,
} from '../forms/schema.ts'
import { SchemaForm } from '../forms/schema-form.tsx'
import { fetchAll } from './all-resources.ts'
import type { Collection } from './collections.ts'

interface PageProps {
  readonly collection: Collection
  readonly name: string
}

/** Shown at once although the schema lets them out: nearly everyone sets them. */
const prominent = ['match', 'entryPoints']

export function ResourcePage({ collection, name }: PageProps) {
  const { path } = collection
  const isNew = name === 'new'
  const schemas = useSchemas()
  const loaded = useQuery({
    queryKey: ['resource', path, name],
    enabled: !isNew,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => call<Resource>(`/${path}/${encodeURIComponent(name)}`),
  })
  const schema = schemas.data?.[collection.schema]
  const error = schemas.error ?? loaded.error
  if (error !== null) return <Failure error={error} />
  if (schema === undefined || (!isNew && loaded.data === undefined)) {
    return <p className="quiet">Loading …</p>
  }
  const initial = loaded.data === undefined ? startOf(schema) : writableOf(schema, loaded.data)
  const key = `${loaded.data?.revision ?? 'new'}`
  return <Editor key={key} collection={collection} name={name} schema={schema} initial={initial} />
}

function startOf(schema: Schema): FormValue {
  const first = alternativeOf(schema, {})
  const tag = schema.discriminator?.propertyName
  const tagSchema = tag === undefined ? undefined : first.properties?.[tag]
  return {
    ...emptyValue(first),
    ...(tag === undefined || tagSchema === undefined ? {} : { [tag]: emptyField(tagSchema) }),
  }
}

interface EditorProps extends PageProps {
  readonly schema: Schema
  readonly initial: FormValue
}

function Editor({ collection, name, schema, initial }: EditorProps) {
  const { path, singular } = collection
  const isNew = name === 'new'
  const [value, setValue] = useState(initial)
  const [, goTo] = useLocation()
  const services = useQuery({
    queryKey: ['resources', 'services'],
    queryFn: () => fetchAll('services'),
    enabled: collection.kind === 'router',
  })
  const save = useWrite((document: FormValue, csrfToken) =>
    isNew
      ? call(`/${path}`, { method: 'POST', body: document, csrfToken })
      : call(`/${path}/${encodeURIComponent(name)}`, { method: 'PUT', body: document, csrfToken }),
  )
  const document = useMemo(() => writableOf(schema, value), [schema, value])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate(document, { onSuccess: () => goTo(`/${path}`) })
  }
  const problems = save.error instanceof ApiProblem ? save.error.problems : []
  const fixed = isNew ? [] : ['name', 'source']
  return (
    <PageFrame title={isNew ? `New ${singular}` : name}>
      <div className="halves">
        <form className="card form" onSubmit={submit} noValidate>
          <SchemaForm
            schema={schema}
            value={value}
            onChange={setValue}
            problems={problems}
            fixed={fixed}
            prominent={prominent}
            suggestions={{ service: services.data?.map((service) => service.name) ?? [] }}
          />
          <Failure error={save.error} />
          <ForRole least="editor">
            <div className="row">
              <button type="submit" className="main" disabled={save.isPending}>
                Publish
              </button>
              <span className="quiet">Goes to every node that it concerns at once.</span>
            </div>
          </ForRole>
        </form>
        <div className="stack">
          <Card title="As YAML">
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there. */}
            <pre tabIndex={0}>{yamlOf(collection.kind, schema, document)}</pre>
          </Card>
          {isNew ? null : (
            <ForRole least="editor">
              <Removal path={path} name={name} singular={singular} />
            </ForRole>
          )}
        </div>
      </div>
    </PageFrame>
  )
}

/** For `sluice apply`; secrets that were typed in are left out. */
function yamlOf(kind: string, schema: Schema, document: FormValue): string {
  const { properties } = alternativeOf(schema, document)
  const shown = Object.entries(document).filter(([name]) => properties?.[name]?.writeOnly !== true)
  return stringify({ kind, ...Object.fromEntries(shown) })
}

function Removal(props: {
  readonly path: string
  readonly name: string
  readonly singular: string
}) {
  const { path, name, singular } = props
  const [isAsking, setIsAsking] = useState(false)
  const [, goTo] = useLocation()
  const remove = useWrite((_: undefined, csrfToken) =>
    call(`/${path}/${encodeURIComponent(name)}`, { method: 'DELETE', csrfToken }),
  )
  const confirm = () => remove.mutate(undefined, { onSuccess: () => goTo(`/${path}`) })
  return (
    <Card title="Remove">
      <div className="row">
        {isAsking ? (
          <>
            <button type="button" className="danger" onClick={confirm}>
              Remove {name}
            </button>
            <button type="button" onClick={() => setIsAsking(false)}>
              Cancel
            </button>
          </>
        ) : (
          <button type="button" className="danger" onClick={() => setIsAsking(true)}>
            Remove this {singular} …
          </button>
        )}
      </div>
      <Failure error={remove.error} />
    </Card>
  )
}
