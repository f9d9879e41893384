/** The small parts that every page is made of. */
import type { ReactNode } from 'react'
import { ApiProblem } from '../api/client.ts'
import type { NodeState } from '../api/types.ts'
import { exactTime, type Quantity, relativeTime } from './format.ts'

export function PageFrame(props: {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <div className="stack">
      <header>
        <h1>{props.title}</h1>
        <div className="row">{props.actions}</div>
      </header>
      {props.children}
    </div>
  )
}

export function Card(props: { readonly title?: string; readonly children: ReactNode }) {
  return (
    <section className="card">
      {props.title === undefined ? null : <h2>{props.title}</h2>}
      {props.children}
    </section>
  )
}

export function Empty(props: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{props.title}</strong>
      {props.children}
    </div>
  )
}

export function Time({ at }: { readonly at: string | null | undefined }) {
  if (at === null || at === undefined) return <span className="quiet">never</span>
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relativeTime(at)}
    </time>
  )
}

export function Figure({ name, quantity }: { readonly name: string; readonly quantity: Quantity }) {
  return (
    <div className="figure">
      <div className="quiet">{name}</div>
      <div className="value">
        {quantity.value} <span className="unit">{quantity.unit}</span>
      </div>
    </div>
  )
}

export const stateTones: Readonly<Record<NodeState, 'good' | 'warn' | 'bad' | ''>> = {
  'in-sync': 'good',
  updating: 'warn',
  draining: 'warn',
  rejected: 'bad',
  lost: 'bad',
  revoked: '',
}

export function State({ state }: { readonly state: NodeState }) {
  return <span className={`state ${stateTones[state]}`}>{state}</span>
}

export function Labels({ of }: { readonly of: Readonly<Record<string, string>> | undefined }) {
  const entries = Object.entries(of ?? {})
  return entries.map(([key, value]) => (
    <span className="tag" key={key}>
      {key}={value}
    </span>
  ))
}

/** What went wrong, with every problem that the API named. */
export function Failure({ error }: { readonly error: unknown }) {
  if (error === null || error === undefined) return null
  const problems = error instanceof ApiProblem ? error.problems : []
  return (
    <div className="note bad" role="alert">
      {error instanceof Error ? error.message : String(error)}
      {problems.length === 0 ? null : (
        <ul>
          {problems.map((problem) => (
            <li key={`${problem.kind}/${problem.name}/${problem.field}/${problem.reason}`}>
              {[problem.kind, problem.name].filter((part) => part !== '').join('/')}{' '}
              <code>{problem.field}</code>: {problem.reason}
              {problem.hint === undefined ? '' : ` (${problem.hint})`}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
