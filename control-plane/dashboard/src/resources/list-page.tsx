/** A list that stays quick with tens of thousands of rows: only those in sight are in the page. */
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useDeferredValue, useMemo, useRef, useState } from 'react'
import { Link } from 'wouter'
import type { Resource } from '../api/types.ts'
import { ForRole } from '../app/session.tsx'
import { count } from '../design/format.ts'
import { Empty, Failure, Labels, PageFrame, Time } from '../design/parts.tsx'
import { fetchAll } from './all-resources.ts'
import type { Collection } from './collections.ts'

const rowPixels = 38

export function ListPage({ collection }: { readonly collection: Collection }) {
  const { path, singular, plural, purpose } = collection
  const [search, setSearch] = useState('')
  const wanted = useDeferredValue(search.trim().toLowerCase())
  const all = useQuery({ queryKey: ['resources', path], queryFn: () => fetchAll(path) })
  const rows = useMemo(
    () =>
      (all.data ?? []).map((resource) => {
        const summary = collection.summary(resource)
        const labels = Object.entries(resource.labels ?? {}).map((pair) => pair.join('='))
        const text = `${resource.name} ${summary} ${labels.join(' ')}`.toLowerCase()
        return { resource, summary, text }
      }),
    [all.data, collection],
  )
  const shown = useMemo(() => rows.filter(({ text }) => text.includes(wanted)), [rows, wanted])
  const add = (
    <ForRole least="editor">
      <Link className="button main" href={`/${path}/new`}>
        Add {/^[aeiou]/.test(singular) ? 'an' : 'a'} {singular}
      </Link>
    </ForRole>
  )
  return (
    <PageFrame title={plural} actions={add}>
      <Failure error={all.error} />
      {all.isSuccess && rows.length === 0 ? (
        <div className="card">
          <Empty title={`There are no ${plural.toLowerCase()} yet`}>
            {purpose}
            <div className="row">{add}</div>
          </Empty>
        </div>
      ) : (
        <>
          <div className="row">
            <input
              type="search"
              style={{ maxWidth: 420 }}
              aria-label={`Search ${plural.toLowerCase()}`}
              placeholder="Name, content or label"
              value={search}
              onChange={(event) => setSearch(event.target.value)}
            />
            <span className="quiet" role="status">
              {count(shown.length)} of {count(rows.length)}
            </span>
          </div>
          <Rows path={path} rows={shown} />
        </>
      )}
    </PageFrame>
  )
}

interface Row {
  readonly resource: Resource
  readonly summary: string
}

function Rows({ path, rows }: { readonly path: string; readonly rows: readonly Row[] }) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPixels,
    overscan: 12,
  })
  return (
    <section className="card" style={{ padding: 0 }}>
      <div className="list-head" aria-hidden="true">
        <span>Name</span>
        <span>Content</span>
        <span>Labels</span>
        <span>Changed</span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must get there. */}
      <section className="list" ref={scroller} tabIndex={0} aria-label="Rows">
        <div style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index]
            if (row === undefined) return null
            const { resource, summary } = row
            return (
              <Link
                key={resource.name}
                className="item"
                href={`/${path}/${encodeURIComponent(resource.name)}`}
                style={{ transform: `translateY(${start}px)`, height: rowPixels }}
              >
                <span className="name">{resource.name}</span>
                <span title={summary}>{summary}</span>
                <span>
                  <Labels of={resource.labels} />
                </span>
                <span>
                  <Time at={resource.updatedAt} />
                </span>
              </Link>
            )
          })}
        </div>
      </section>
    </section>
  )
}
