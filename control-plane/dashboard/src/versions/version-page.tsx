/** One version: what it changed, what differs from the newest, who runs or refused it, and the way back. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { call } from '../api/client.ts'
import type { Difference, Page, Status, VersionSummary } from '../api/types.ts'
import { ForRole, useWrite } from '../app/session.tsx'
import { Card, Failure, PageFrame, Time } from '../design/parts.tsx'
import { useNodes } from '../nodes/use-nodes.ts'
import { Differences } from './differences.tsx'

interface Version extends VersionSummary {
  readonly previous: number | null
  readonly changes: readonly Difference[]
  readonly changesTotal: number
}

export function VersionPage({ number }: { readonly number: number }) {
  const version = useQuery({
    queryKey: ['version', number],
    queryFn: () => call<Version>(`/versions/${number}`),
  })
  const status = useQuery({ queryKey: ['status'], queryFn: () => call<Status>('/status') })
  const newest = status.data?.version ?? number
  return (
    <PageFrame
      title={`Version ${number}`}
      actions={
        number < newest ? (
          <ForRole least="editor">
            <Rollback number={number} />
          </ForRole>
        ) : (
          <span className="quiet">newest</span>
        )
      }
    >
      <Failure error={version.error} />
      {version.data === undefined ? null : (
        <>
          <Facts version={version.data} />
          <Fleet number={number} />
          <Card title={`Changes since version ${version.data.previous ?? 0}`}>
            <Differences of={version.data.changes} />
            {version.data.changesTotal > version.data.changes.length ? (
              <p className="quiet">{version.data.changesTotal} changes in all.</p>
            ) : null}
          </Card>
          {number < newest ? <SinceThen from={number} to={newest} /> : null}
        </>
      )}
    </PageFrame>
  )
}

function Facts({ version }: { readonly version: Version }) {
  return (
    <Card>
      <dl>
        <dt>Message</dt>
        <dd>{version.message === '' ? '–' : version.message}</dd>
        <dt>Author</dt>
        <dd>{version.author}</dd>
        <dt>Published</dt>
        <dd>
          <Time at={version.createdAt} />
        </dd>
        <dt>Hash</dt>
        <dd className="mono">{version.hash}</dd>
      </dl>
    </Card>
  )
}

function Fleet({ number }: { readonly number: number }) {
  const nodes = useNodes()
  const items = nodes.data?.items ?? []
  const running = items.filter(({ version }) => version === number)
  const refused = items.filter(({ rejected }) => rejected?.version === number)
  return (
    <Card title="Nodes">
      <p>
        {running.length} of {items.length} run this version.
      </p>
      {refused.map(({ id, name, rejected }) => (
        <div className="note bad" key={id}>
          <Link href={`/nodes/${encodeURIComponent(name)}`}>{name}</Link> refused it
          <ul>
            {rejected?.problems.map((problem) => (
              <li key={`${problem.kind}/${problem.name}/${problem.field}`}>
                {problem.kind}/{problem.name} <code>{problem.field}</code>: {problem.reason}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </Card>
  )
}

function SinceThen({ from, to }: { readonly from: number; readonly to: number }) {
  const difference = useQuery({
    queryKey: ['difference', from, to],
    queryFn: () => call<Page<Difference>>(`/versions/${from}/diff/${to}?limit=200`),
  })
  return (
    <Card title={`What differs from version ${from} to the newest, ${to}`}>
      <Failure error={difference.error} />
      <Differences of={difference.data?.items ?? []} />
    </Card>
  )
}

function Rollback({ number }: { readonly number: number }) {
  const [isAsking, setIsAsking] = useState(false)
  const [, goTo] = useLocation()
  const rollback = useWrite((_: undefined, csrfToken) =>
    call<{ version?: number }>(`/versions/${number}/rollback`, { method: 'POST', csrfToken }),
  )
  const confirm = () =>
    rollback.mutate(undefined, {
      onSuccess: ({ version }) =>
        goTo(version === undefined ? '/versions' : `/versions/${version}`),
    })
  if (!isAsking) {
    return (
      <button type="button" onClick={() => setIsAsking(true)}>
        Roll back to this …
      </button>
    )
  }
  return (
    <>
      <button type="button" className="main" disabled={rollback.isPending} onClick={confirm}>
        Publish version {number} again
      </button>
      <button type="button" onClick={() => setIsAsking(false)}>
        Cancel
      </button>
      <Failure error={rollback.error} />
    </>
  )
}
