/** Who is signed in. Without a session there is the sign-in page and nothing else. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import { ApiProblem, call, type Role, type SessionState } from '../api/client.ts'
import { SignIn } from './sign-in.tsx'

const SessionContext = createContext<SessionState | undefined>(undefined)

export function useSession(): SessionState {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('a page is shown without a session')
  return session
}

const ranks: readonly Role[] = ['viewer', 'editor', 'admin']

/** Whether to offer what takes this role; the API decides in any case. */
export function useMay(least: Role): boolean {
  const { role } = useSession()
  return ranks.indexOf(role) >= ranks.indexOf(least)
}

/** Shows what takes a role to those who have it. */
export function ForRole(props: { readonly least: Role; readonly children: ReactNode }) {
  return useMay(props.least) ? props.children : null
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
