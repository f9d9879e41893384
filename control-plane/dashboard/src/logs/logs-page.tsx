/** Sampled request lines: searched, or followed as they come. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearch } from 'wouter'
import { call } from '../api/client.ts'
import type { LogLine } from '../api/types.ts'
import { ForRole, useWrite } from '../app/session.tsx'
import { count } from '../design/format.ts'
import { Card, Empty, Failure, PageFrame } from '../design/parts.tsx'
import { FILTER_FIELDS, filterFrom, type LogFilter, NO_FILTER, queryOf } from './log-filter.ts'
import { LogTable } from './log-table.tsx'
import { useTail } from './use-tail.ts'

const raise = Object.freeze({ perSecond: 200, seconds: 300 })

interface Lines {
  readonly items: readonly LogLine[]
  readonly next: string | null
}

export function LogsPage() {
  const [filter, setFilter] = useState<LogFilter>(filterFrom(useSearch()))
  const [isFollowing, setIsFollowing] = useState(false)
  const toggle = (
    <button type="button" aria-pressed={isFollowing} onClick={() => setIsFollowing(!isFollowing)}>
      {isFollowing ? 'Back to search' : 'Follow live'}
    </button>
  )
  return (
    <PageFrame title="Logs" actions={toggle}>
      <Card>
        <Filters filter={filter} onChange={setFilter} />
      </Card>
      {isFollowing ? <Followed filter={filter} /> : <Found filter={filter} />}
    </PageFrame>
  )
}

function Filters(props: {
  readonly filter: LogFilter
  readonly onChange: (filter: LogFilter) => void
}) {
  const { filter, onChange } = props
  return (
    <div className="filters">
      {FILTER_FIELDS.map(({ name, title, example }) => (
        <label key={name}>
          {title}
          <input
            value={filter[name]}
            placeholder={example}
            onChange={(event) => onChange({ ...filter, [name]: event.target.value.trim() })}
          />
        </label>
      ))}
      <button type="button" onClick={() => onChange(NO_FILTER)}>
        Clear
      </button>
    </div>
  )
}

function Found({ filter }: { readonly filter: LogFilter }) {
  const lines = useInfiniteQuery({
    queryKey: ['logs', filter],
    initialPageParam: '',
    queryFn: ({ pageParam }) =>
      call<Lines>(`/logs?${queryOf(filter, { limit: '200', before: pageParam })}`),
    getNextPageParam: ({ next }) => next ?? undefined,
  })
  const items = lines.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <Card>
      <Failure error={lines.error} />
      {lines.isSuccess && items.length === 0 ? (
        <Empty title="No line fits">
          Lines are a sample of the requests; each says how many it stands for. Send a request
          through a node, or clear the filters.
        </Empty>
      ) : (
        <LogTable lines={items} />
      )}
      {lines.hasNextPage ? (
        <button type="button" onClick={() => void lines.fetchNextPage()}>
          Show older lines
        </button>
      ) : null}
    </Card>
  )
}

function Followed({ filter }: { readonly filter: LogFilter }) {
  const tail = useTail(filter, true)
  return (
    <Card>
      <div className="spread">
        <span role="status" className={`state ${tail.isPaused ? 'warn' : 'good'}`}>
          {tail.isPaused ? `paused, ${count(tail.waiting)} lines wait` : 'following'}
        </span>
        <div className="row">
          <ForRole least="editor">
            <Raise node={filter.node} />
          </ForRole>
          <button type="button" onClick={() => tail.setPaused(!tail.isPaused)}>
            {tail.isPaused ? 'Go on' : 'Pause'}
          </button>
        </div>
      </div>
      {tail.failure === undefined ? null : <div className="note warn">{tail.failure}</div>}
      {tail.dropped === 0 ? null : (
        <p className="quiet">{count(tail.dropped)} lines came faster than they could be sent.</p>
      )}
      <LogTable lines={tail.lines} />
    </Card>
  )
}

/** More lines for a while; the cap falls back by itself. */
function Raise({ node }: { readonly node: string }) {
  const { perSecond, seconds } = raise
  const write = useWrite((_: undefined, csrfToken) =>
    call('/logs/raise', {
      method: 'POST',
      body: { perSecond, seconds, ...(node === '' ? {} : { node }) },
      csrfToken,
    }),
  )
  return (
    <>
      <Failure error={write.error} />
      <button type="button" disabled={write.isPending} onClick={() => write.mutate(undefined)}>
        {write.isSuccess ? 'Raised' : `Raise to ${perSecond}/s for ${seconds / 60} min`}
      </button>
    </>
  )
}
