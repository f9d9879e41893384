/** What was published, newest first. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call } from '../api/client.ts'
import type { Page, VersionSummary } from '../api/types.ts'
import { Card, Empty, Failure, PageFrame, Time } from '../design/parts.tsx'

const pageSize = 50

export function VersionsPage() {
  const versions = useInfiniteQuery({
    queryKey: ['versions', 'all'],
    initialPageParam: 0,
    queryFn: ({ pageParam }) =>
      call<Page<VersionSummary>>(`/versions?limit=${pageSize}&offset=${pageParam}`),
    getNextPageParam: ({ total }, pages) => {
      const seen = pages.reduce((sum, { items }) => sum + items.length, 0)
      return seen < total ? seen : undefined
    },
  })
  const items = versions.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <PageFrame title="Versions">
      <Failure error={versions.error} />
      <Card>
        {versions.isSuccess && items.length === 0 ? (
          <Empty title="Nothing was published yet">
            The first service, router or entry point that you add becomes version 1.
          </Empty>
        ) : (
          <div className="scroll">
            <table>
              <thead>
                <tr>
                  <th>Version</th>
                  <th>Message</th>
                  <th>Author</th>
                  <th className="right">Published</th>
                </tr>
              </thead>
              <tbody>
                {items.map(({ number, message, author, createdAt }) => (
                  <tr key={number}>
                    <td>
                      <Link href={`/versions/${number}`}>version {number}</Link>
                    </td>
                    <td>{message}</td>
                    <td>{author}</td>
                    <td className="right">
                      <Time at={createdAt} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {versions.hasNextPage ? (
          <button type="button" onClick={() => void versions.fetchNextPage()}>
            Show older ones
          </button>
        ) : null}
      </Card>
    </PageFrame>
  )
}
