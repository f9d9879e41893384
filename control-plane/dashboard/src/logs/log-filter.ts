/** What log lines are looked for, as the query of an address. */
export const FILTER_FIELDS = [
  { name: 'node', title: 'Node', example: 'any' },
  { name: 'router', title: 'Router', example: 'any' },
  { name: 'service', title: 'Service', example: 'any' },
  { name: 'status', title: 'Status', example: 'like 502 or 5xx' },
  { name: 'path', title: 'Path begins with', example: 'like /api' },
  { name: 'client', title: 'Client', example: 'address' },
  { name: 'method', title: 'Method', example: 'any' },
] as const

export type LogFilter = Readonly<Record<(typeof FILTER_FIELDS)[number]['name'], string>>

export const NO_FILTER: LogFilter = filterFrom('')

export function filterFrom(search: string): LogFilter {
  const query = new URLSearchParams(search)
  const read = (name: keyof LogFilter) => query.get(name) ?? ''
  return {
    node: read('node'),
    router: read('router'),
    service: read('service'),
    status: read('status'),
    path: read('path'),
    client: read('client'),
    method: read('method'),
  }
}

export function queryOf(filter: LogFilter, more: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries({ ...filter, ...more }).filter(([, value]) => value !== '')
  return new URLSearchParams(given).toString()
}
