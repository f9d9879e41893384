/** The page of whoever is not signed in: name and password, with a second factor where there is one, or the admin token. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ApiProblem, call, type SessionState } from '../api/client.ts'
import { Failure } from '../design/parts.tsx'

export function SignIn({ failure }: { readonly failure: Error | null }) {
  const queries = useQueryClient()
  const [byToken, setByToken] = useState(false)
  const [given, setGiven] = useState({ name: '', password: '', code: '', token: '' })
  const { name, password, code, token } = given
  const factor = code === '' ? {} : { code: code.trim() }
  const body = byToken ? { token: token.trim() } : { name: name.trim(), password, ...factor }
  const signIn = useMutation({
    mutationFn: () => call<SessionState>('/session', { method: 'POST', body }),
    onSuccess: (session) => queries.setQueryData(['session'], session),
  })
  const asksForCode =
    signIn.error instanceof ApiProblem &&
    signIn.error.problems.some(({ field }) => field === 'code')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    signIn.mutate()
  }
  const change = (changed: Partial<typeof given>) => setGiven({ ...given, ...changed })
  const turn = () => {
    setByToken(!byToken)
    signIn.reset()
  }
  return (
    <main className="sign-in">
      <form className="card" onSubmit={submit}>
        <div className="brand">
          <img src="/sluice.svg" alt="" />
          <h1>Sign in to Sluice</h1>
        </div>
        {byToken ? (
          <TokenField value={token} onChange={(next) => change({ token: next })} />
        ) : (
          <PasswordFields name={name} password={password} onChange={change} />
        )}
        {!byToken && (asksForCode || code !== '') ? (
          <CodeField value={code} onChange={(next) => change({ code: next })} />
        ) : null}
        <Failure error={signIn.error ?? failure} />
        <button className="main" type="submit" disabled={signIn.isPending}>
          Sign in
        </button>
        <button type="button" onClick={turn}>
          {byToken ? 'Use a name and a password' : 'Use the admin token'}
        </button>
      </form>
    </main>
  )
}

function PasswordFields(props: {
  readonly name: string
  readonly password: string
  readonly onChange: (changed: { readonly name?: string; readonly password?: string }) => void
}) {
  const { name, password, onChange } = props
  return (
    <>
      <div className="field">
        <label htmlFor="name">Name</label>
        <input
          id="name"
          autoComplete="username"
          required
          value={name}
          onChange={(event) => onChange({ name: event.target.value })}
        />
      </div>
      <div className="field">
        <label htmlFor="password">Password</label>
        <input
          id="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => onChange({ password: event.target.value })}
        />
        <small>
          <code>sluice user add</code> makes a user.
        </small>
      </div>
    </>
  )
}

interface FieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

function CodeField({ value, onChange }: FieldProps) {
  return (
    <div className="field">
      <label htmlFor="code">Code</label>
      <input
        id="code"
        autoComplete="one-time-code"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      <small>Of your authenticator, or a recovery code.</small>
    </div>
  )
}

function TokenField({ value, onChange }: FieldProps) {
  return (
    <div className="field">
      <label htmlFor="token">Admin token</label>
      <input
        id="token"
        type="password"
        autoComplete="off"
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      <small>
        It is in the file <code>admin-token</code> of the control plane's data directory.
      </small>
    </div>
  )
}
