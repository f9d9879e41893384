/** A whole collection, page after page: search has to see every row. */
import { call } from '../api/client.ts'
import type { Page, Resource } from '../api/types.ts'

const pageSize = 1_000
const rowsMax = 100_000

export async function fetchAll(path: string): Promise<readonly Resource[]> {
  const rows: Resource[] = []
  let total = 1
  while (rows.length < Math.min(total, rowsMax)) {
    const page = await call<Page<Resource>>(`/${path}?limit=${pageSize}&offset=${rows.length}`)
    if (page.items.length === 0) break
    rows.push(...page.items)
    total = page.total
  }
  return rows
}
