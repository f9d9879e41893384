/** What a command works with: the admin API, and one way to show an answer as text or as JSON. */
import type { AdminClient } from './admin-client.ts'

export interface Session {
  readonly admin: AdminClient
  readonly environment: NodeJS.ProcessEnv
  readonly isJson: boolean
  readonly write: (text: string) => void
}

/** Runs an action with a session of the options that were given, and closes what it opened. */
export type RunAction = (action: (session: Session) => Promise<Ending>) => Promise<void>

/** The exit code, where it is another one than 0 without anything having failed. */
// biome-ignore lint/suspicious/noConfusingVoidType: most actions return nothing.
export type Ending = number | void

/** With --json the body as the API sent it, else the text. */
export function show<Body>(session: Session, body: Body, text: (body: Body) => string): void {
  session.write(session.isJson ? JSON.stringify(body, null, 2) : text(body))
}
