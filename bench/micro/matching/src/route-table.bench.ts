/** Finding a request's router among 1, 10,000 and 100,000, each for a host of its own and two prefixes of it. */
import { RouteTable, rank } from '../../../../matching/src/route-table.ts'
import type { MicroBenchmark, MicroCase } from '../../micro-benchmark.ts'

const OPERATIONS = 2_000
/** Coprime to the numbers of routers, so that hosts are asked in no order that a cache could like. */
const STRIDE = 7_919
const CLIENT = '192.0.2.1'
const PATH = '/api/v2/orders/4711'

function hostOf(router: number): string {
  return `host-${router}.example.com`
}

/** Two entries for each host: everything, and what is below /api. */
function tableOf(routers: number): RouteTable {
  const entries = Array.from({ length: routers }, (_, router) => {
    const common = {
      router,
      host: hostOf(router),
      methods: undefined,
      clientRanges: undefined,
      priority: 0,
    }
    return [
      { ...common, name: `all-${router}`, path: { kind: 'any' } as const },
      { ...common, name: `api-${router}`, path: { kind: 'prefix', prefix: '/api' } as const },
    ]
  })
  return new RouteTable(rank(entries.flat()))
}

/** The table and the hosts are made with the first run, which is not measured. */
function matching(routers: number): MicroCase {
  let made: { table: RouteTable; hosts: string[] } | undefined
  return {
    name: `${routers.toLocaleString('en')} router${routers === 1 ? '' : 's'}`,
    operations: OPERATIONS,
    run: () => {
      made ??= {
        table: tableOf(routers),
        hosts: Array.from({ length: OPERATIONS }, (_, at) => hostOf((at * STRIDE) % routers)),
      }
      let sum = 0
      for (const host of made.hosts) sum += made.table.match(host, PATH, 'GET', CLIENT)
      return sum
    },
  }
}

export const routeTableBenchmark: MicroBenchmark = {
  source: 'matching/src/route-table.ts',
  cases: [matching(1), matching(10_000), matching(100_000)],
}
