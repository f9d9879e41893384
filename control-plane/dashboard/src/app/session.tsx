/** Who is signed in. Without a session there is the sign-in page and nothing else. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type FormEvent, type ReactNode, useContext, useState } from 'react'
import { ApiProblem, call, type SessionState } from '../api/client.ts'
import { Failure } from '../design/parts.tsx'

const SessionContext = createContext<SessionState | undefined>(undefined)

export function useSession(): SessionState {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('a page is shown without a session')
  return session
}

/** For writes; after one, everything that is shown is asked for again. */
export function useWrite<Input, Answer = unknown>(
  write: (input: Input, csrfToken: string) => Promise<Answer>,
) {
  const { csrfToken } = useSession()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => write(input, csrfToken),
    onSuccess: () => queries.invalidateQueries(),
  })
}

export function SessionGate({ children }: { readonly children: ReactNode }) {
  const session = useQuery({
    queryKey: ['session'],
    queryFn: async () => {
      try {
        return await call<SessionState>('/session')
      } catch (error) {
        if (error instanceof ApiProblem && error.status === 401) return null
        throw error
      }
    },
    retry: 2,
    refetchInterval: 60_000,
  })
  if (session.isPending) return null
  if (session.data === null || session.data === undefined) {
    return <SignIn failure={session.error} />
  }
  return <SessionContext value={session.data}>{children}</SessionContext>
}

function SignIn({ failure }: { readonly failure: Error | null }) {
  const queries = useQueryClient()
  const [token, setToken] = useState('')
  const signIn = useMutation({
    mutationFn: () =>
      call<SessionState>('/session', { method: 'POST', body: { token: token.trim() } }),
    onSuccess: (session) => queries.setQueryData(['session'], session),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    signIn.mutate()
  }
  return (
    <main className="sign-in">
      <form className="card" onSubmit={submit}>
        <div className="brand">
          <img src="/sluice.svg" alt="" />
          <h1>Sign in to Sluice</h1>
        </div>
        <div className="field">
          <label htmlFor="token">Admin token</label>
          <input
            id="token"
            type="password"
            autoComplete="current-password"
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
          <small>
            It is in the file <code>admin-token</code> of the control plane's data directory.
          </small>
        </div>
        <Failure error={signIn.error ?? failure} />
        <button className="main" type="submit" disabled={signIn.isPending}>
          Sign in
        </button>
      </form>
    </main>
  )
}
