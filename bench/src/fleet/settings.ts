/** The flags of `npm run bench:fleet`. */
import { parseArgs } from 'node:util'

export interface FleetSettings {
  readonly nodes: number
  readonly routers: number
  /** Changes of one router that are timed; rounds with a large node. */
  readonly changes: number
  /** Of telemetry. */
  readonly seconds: number
  /** One real node with many routers, in place of many nodes. */
  readonly isLargeNode: boolean
  readonly json: string | undefined
}

export const HELP = `Measures a control plane with many simulated nodes that speak the real protocol over mutual TLS.
  --nodes N       simulated nodes (default 1000)
  --routers N     configured routers (default 10000)
  --changes N     changes of one router that are timed (default 10)
  --seconds N     seconds of telemetry (default 30)
  --large-node    one real node under traffic in place of many nodes: 100000 routers, and
                  --changes rounds (default 5) of 5 s without and with changes
  --json FILE     write the figures to FILE
`

/** Undefined: help was asked for. */
export function readSettings(args: readonly string[]): FleetSettings | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: 'string', default: '1000' },
      routers: { type: 'string' },
      changes: { type: 'string' },
      seconds: { type: 'string', default: '30' },
      'large-node': { type: 'boolean', default: false },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const isLargeNode = values['large-node']
  const { routers = isLargeNode ? '100000' : '10000', changes = isLargeNode ? '5' : '10' } = values
  return {
    nodes: readCount('--nodes', values.nodes),
    routers: readCount('--routers', routers),
    changes: readCount('--changes', changes),
    seconds: readCount('--seconds', values.seconds),
    isLargeNode,
    json: values.json,
  }
}

function readCount(flag: string, text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new Error(`${flag} must be 1 or more`)
  return count
}
