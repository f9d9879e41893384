/** `sluice nodes` and `sluice node revoke`: the fleet, and the end of one node's membership. */
import type { Command } from 'commander'
import { type ProblemDetail, problemText } from '../failures.ts'
import { type RunAction, show } from '../session.ts'
import { table } from '../table.ts'
import { labelsText, timeText } from '../values.ts'

interface FleetNode {
  readonly id: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly state: string
  readonly isConnected: boolean
  readonly lastSeenAt: string | null
  readonly version: number
  readonly appliedAt: string | null
  readonly workers: number
  readonly rejected: {
    readonly version: number
    readonly problems: readonly ProblemDetail[]
  } | null
}

interface FleetNodes {
  readonly items: readonly FleetNode[]
}

export function addNodeCommands(program: Command, run: RunAction): void {
  program
    .command('nodes')
    .description('list the nodes: state, version, last sign of life')
    .action(() =>
      run(async (session) => {
        show(session, (await session.admin.get('nodes')) as FleetNodes, nodesText)
      }),
    )

  program
    .command('node')
    .description('act on one node')
    .command('revoke <name>')
    .description('cut a node off for good; it must join again under another name')
    .action((name: string) =>
      run(async (session) => {
        const path = `nodes/${encodeURIComponent(name)}/revoke`
        const { body } = await session.admin.send('POST', path)
        show(session, body as FleetNode, (node) => `node ${node.name} revoked`)
      }),
    )
}

function nodesText({ items }: FleetNodes): string {
  const rows = items.map((node) => [
    node.name,
    node.state,
    node.isConnected ? 'yes' : 'no',
    node.version,
    timeText(node.appliedAt),
    timeText(node.lastSeenAt),
    node.workers,
    labelsText(node.labels),
  ])
  const heading = [
    'NAME',
    'STATE',
    'CONNECTED',
    'VERSION',
    'APPLIED',
    'LAST SEEN',
    'WORKERS',
    'LABELS',
  ]
  return [table(heading, rows), ...items.flatMap(rejectionLines)].join('\n')
}

/** A table has no room for why a version was refused, and it is what an operator must know next. */
function rejectionLines({ name, rejected }: FleetNode): string[] {
  if (rejected === null) return []
  return rejected.problems.map(
    (problem) => `${name} refused version ${rejected.version}: ${problemText(problem)}`,
  )
}
