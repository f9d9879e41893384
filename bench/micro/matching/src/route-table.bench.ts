/** Finding a request's router among 1, 10,000 and 100,000, each for a host of its own and two prefixes of it. */
import { orderOf, RouteTable } from '../../../../matching/src/route-table.ts'
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
function tableOf(routers: number): RouteTable<number> {
  const table = new RouteTable<number>()
  for (let target = 0; target < routers; target += 1) {
    const common = {
      host: hostOf(target),
      methods: undefined,
      clientRanges: undefined,
      priority: 0,
    }
    const conditions = [
      { ...common, name: `all-${target}`, path: { kind: 'any' } as const },
      { ...common, name: `api-${target}`, path: { kind: 'prefix', prefix: '/api' } as const },
    ]
    for (const condition of conditions) {
      table.add({ ...condition, order: orderOf(condition), target })
    }
  }
  return table
}

/** The table and the hosts are made with the first run, which is not measured. */
function matching(routers: number): MicroCase {
  let made: { table: RouteTable<number>; hosts: string[] } | undefined
  return {
    name: `${routers.toLocaleString('en')} router${routers === 1 ? '' : 's'}`,
    operations: OPERATIONS,
    run: () => {
      made ??= {
        table: tableOf(routers),
        hosts: Array.from({ length: OPERATIONS }, (_, at) => hostOf((at * STRIDE) % routers)),
      }
      let sum = 0
      for (const host of made.hosts) sum += made.table.match(host, PATH, 'GET', CLIENT) ?? 0
      return sum
    },
  }
}

export const routeTableBenchmark: MicroBenchmark = {
  source: 'matching/src/route-table.ts',
  cases: [matching(1), matching(10_000), matching(100_000)],
}
