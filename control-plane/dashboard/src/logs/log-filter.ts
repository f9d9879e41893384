/** What log lines are looked for, as the query of an address. */
export interface LogFilter {
  readonly node: string
  readonly router: string
  readonly service: string
  readonly status: string
}

export const NO_FILTER: LogFilter = { node: '', router: '', service: '', status: '' }

export function filterFrom(search: string): LogFilter {
  const query = new URLSearchParams(search)
  const read = (name: keyof LogFilter) => query.get(name) ?? ''
  return {
    node: read('node'),
    router: read('router'),
    service: read('service'),
    status: read('status'),
  }
}

export function queryOf(filter: LogFilter, more: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries({ ...filter, ...more }).filter(([, value]) => value !== '')
  return new URLSearchParams(given).toString()
}
