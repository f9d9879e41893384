/** Starts the dashboard in the page. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import 'uplot/dist/uPlot.min.css'
import './design/tokens.css'
import './design/base.css'
import './design/layout.css'
import { ApiProblem } from './api/client.ts'
import { App } from './app/app.tsx'
import { SessionGate } from './app/session.tsx'
import { applyTheme, currentTheme } from './app/theme.ts'

applyTheme(currentTheme())
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      retry: (failures, error) => failures < 2 && !(error instanceof ApiProblem),
    },
  },
})
// A session that ended anywhere ends the page: the gate asks again and shows the sign-in.
queries.getQueryCache().subscribe(({ type, query }) => {
  const { error } = query.state
  const isGate = query.queryKey[0] === 'session'
  if (type === 'updated' && !isGate && error instanceof ApiProblem && error.status === 401) {
    void queries.invalidateQueries({ queryKey: ['session'] })
  }
})

const root = document.querySelector('#root')
if (root === null) throw new Error('the page has no element #root')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SessionGate>
        <App />
      </SessionGate>
    </QueryClientProvider>
  </StrictMode>,
)
