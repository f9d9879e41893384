/** Settings of the fleet, join tokens, and how the dashboard looks. */
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ApiProblem, call } from '../api/client.ts'
import type { Page } from '../api/types.ts'
import { ForRole, useSession, useWrite } from '../app/session.tsx'
import { applyTheme, currentTheme, THEMES } from '../app/theme.ts'
import { Card, Failure, Labels, PageFrame, Time } from '../design/parts.tsx'
import { type FormValue, type Schema, useSchemas, writableOf } from '../forms/schema.ts'
import { SchemaForm } from '../forms/schema-form.tsx'

export function SettingsPage() {
  const schemas = useSchemas()
  const settings = useQuery({
    queryKey: ['settings'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      try {
        return await call<FormValue>('/settings')
      } catch (error) {
        // None were ever written: the defaults hold.
        if (error instanceof ApiProblem && error.status === 404) return {}
        throw error
      }
    },
  })
  const schema = schemas.data?.SettingsRequest
  return (
    <PageFrame title="Settings">
      <Failure error={settings.error ?? schemas.error} />
      <div className="halves">
        {schema === undefined || settings.data === undefined ? null : (
          <FleetSettings schema={schema} initial={settings.data} />
        )}
        <div className="stack">
          <Appearance />
          <JoinTokens />
          <SignedIn />
        </div>
      </div>
    </PageFrame>
  )
}

function FleetSettings({
  schema,
  initial,
}: {
  readonly schema: Schema
  readonly initial: FormValue
}) {
  const [value, setValue] = useState(() => writableOf(schema, initial))
  const save = useWrite((body: FormValue, csrfToken) =>
    call('/settings', { method: 'PUT', body, csrfToken }),
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate(writableOf(schema, value))
  }
  const names = Object.keys(schema.properties ?? {}).filter((name) => name !== 'labels')
  return (
    <form className="card form" onSubmit={submit} noValidate>
      <h2>Fleet</h2>
      <SchemaForm
        schema={schema}
        value={value}
        onChange={setValue}
        prominent={names}
        problems={save.error instanceof ApiProblem ? save.error.problems : []}
      />
      <Failure error={save.error} />
      <div className="row">
        <ForRole least="admin">
          <button type="submit" className="main" disabled={save.isPending}>
            Publish
          </button>
        </ForRole>
        {save.isSuccess ? <span role="status">Published.</span> : null}
      </div>
    </form>
  )
}

function Appearance() {
  const [theme, setTheme] = useState(currentTheme)
  const choose = (chosen: string) => {
    const next = THEMES.find((one) => one === chosen) ?? 'system'
    applyTheme(next)
    setTheme(next)
  }
  return (
    <Card title="Appearance">
      <div className="field">
        <label htmlFor="theme">Theme</label>
        <select id="theme" value={theme} onChange={(event) => choose(event.target.value)}>
          {THEMES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </div>
    </Card>
  )
}

interface JoinToken {
  readonly id: string
  readonly labels: Readonly<Record<string, string>>
  readonly expiresAt: string
  readonly uses: number
  readonly usesLeft: number
}

function JoinTokens() {
  const tokens = useQuery({
    queryKey: ['join-tokens'],
    queryFn: () => call<Page<JoinToken>>('/join-tokens'),
  })
  const remove = useWrite((id: string, csrfToken) =>
    call(`/join-tokens/${encodeURIComponent(id)}`, { method: 'DELETE', csrfToken }),
  )
  const items = tokens.data?.items ?? []
  return (
    <Card title="Join tokens">
      <Failure error={tokens.error ?? remove.error} />
      {items.length === 0 ? (
        <p className="quiet">There are none; adding a node makes one.</p>
      ) : null}
      <div className="scroll">
        <table>
          <tbody>
            {items.map(({ id, labels, expiresAt, uses, usesLeft }) => (
              <tr key={id}>
                <td className="mono">{id}</td>
                <td>
                  {usesLeft} of {uses} uses left
                </td>
                <td>
                  ends <Time at={expiresAt} />
                </td>
                <td>
                  <Labels of={labels} />
                </td>
                <td className="right">
                  <ForRole least="admin">
                    <button
                      type="button"
                      onClick={() => remove.mutate(id)}
                      aria-label={`Remove ${id}`}
                    >
                      Remove
                    </button>
                  </ForRole>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

function SignedIn() {
  const { expiresAt, name, role } = useSession()
  const signOut = useWrite((_: undefined, csrfToken) =>
    call('/session', { method: 'DELETE', csrfToken }),
  )
  return (
    <Card title="Session">
      <div className="spread">
        <span>
          Signed in as {name} ({role}); ends <Time at={expiresAt} />.
        </span>
        <button type="button" onClick={() => signOut.mutate(undefined)}>
          Sign out
        </button>
      </div>
      <p className="quiet">
        The API itself is described at <a href="/api/docs">/api/docs</a>.
      </p>
      <Failure error={signOut.error} />
    </Card>
  )
}
