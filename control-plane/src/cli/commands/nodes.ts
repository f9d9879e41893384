/** `sluice nodes` and `sluice node`: the fleet, all that is known of one node, the end of its membership. */
import type { Command } from 'commander'
import { type ProblemDetail, problemText } from '../failures.ts'
import { type RunAction, show } from '../session.ts'
import { table } from '../table.ts'
import { labelsText, timeText } from '../values.ts'
import { addBundleCommand } from './bundle.ts'

interface FleetNode {
  readonly id: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly state: string
  readonly isConnected: boolean
  readonly lastSeenAt: string | null
  readonly desiredVersion: number
  readonly version: number
  readonly appliedAt: string | null
  readonly load: {
    readonly connectionsOpen: number
    readonly exchangesOpen: number
    readonly draining: readonly (ResourceRef & {
      readonly serverUrl: string
      readonly exchangesOpen: number
    })[]
  } | null
  readonly missingFeatures: readonly (ResourceRef & {
    readonly feature: string
    readonly field: string
  })[]
  readonly softwareVersion: string
  readonly features: readonly string[]
  readonly workers: number
  readonly uptimeSeconds: number | null
  readonly clockOffsetMs: number | null
  readonly certificateExpiresAt: string
  readonly isCertificateExpired: boolean
  readonly enrolledAt: string
  readonly address: string
  readonly rejected: {
    readonly version: number
    readonly problems: readonly ProblemDetail[]
  } | null
}

interface ResourceRef {
  readonly kind: string
  readonly name: string
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

  const node = program.command('node').description('show one node or act on it')
  node
    .command('show <name>')
    .description('show all that is known of a node')
    .action((name: string) =>
      run(async (session) => {
        const path = `nodes/${encodeURIComponent(name)}`
        show(session, (await session.admin.get(path)) as FleetNode, nodeText)
      }),
    )
  addDrain(node, run, 'drain', 'let a node take no new connections; what is open ends by itself')
  addDrain(node, run, 'undrain', 'let a drained node take connections again')
  addBundleCommand(node, run)
  node
    .command('revoke <name>')
    .description('cut a node off for good; it must join again under another name')
    .action((name: string) =>
      run(async (session) => {
        const path = `nodes/${encodeURIComponent(name)}/revoke`
        const { body } = await session.admin.send('POST', path)
        show(session, body as FleetNode, (revoked) => `node ${revoked.name} revoked`)
      }),
    )
}

function addDrain(
  node: Command,
  run: RunAction,
  action: 'drain' | 'undrain',
  description: string,
): void {
  node
    .command(`${action} <name>`)
    .description(description)
    .action((name: string) =>
      run(async (session) => {
        const path = `nodes/${encodeURIComponent(name)}/${action}`
        const { body } = await session.admin.send('POST', path)
        show(session, body as FleetNode, nodeText)
      }),
    )
}

function nodesText({ items }: FleetNodes): string {
  const rows = items.map((node) => [
    node.name,
    node.state,
    node.isConnected ? 'yes' : 'no',
    versionText(node),
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
  return [table(heading, rows), ...items.flatMap(noteLines)].join('\n')
}

/** What a table has no room for, and an operator must know next. */
function noteLines(node: FleetNode): string[] {
  if (node.state !== 'revoked' && node.isCertificateExpired && !node.isConnected) {
    const since = timeText(node.certificateExpiresAt)
    return [
      `${node.name} was away until its certificate expired (${since}): start it with a new join token ("sluice token create"), and it is back under its name and labels`,
    ]
  }
  return refusalLines(node)
}

function refusalLines(node: FleetNode): string[] {
  const { name, rejected, missingFeatures, desiredVersion, softwareVersion } = node
  const problems = rejected?.problems.map(
    (problem) => `${name} refused version ${rejected.version}: ${problemText(problem)}`,
  )
  const lacks = missingFeatures.map(
    ({ feature, kind, ...need }) =>
      `${name} does not get version ${desiredVersion}: its software ${softwareVersion} lacks "${feature}", which ${kind} "${need.name}" needs for ${need.field}`,
  )
  return [...(problems ?? []), ...lacks]
}

/** What it runs, and what it should run where that is another one. */
function versionText({ version, desiredVersion }: FleetNode): string {
  return version === desiredVersion ? `${version}` : `${version} of ${desiredVersion}`
}

function loadRows({ load }: FleetNode): string[][] {
  if (load === null) return []
  const things = load.draining.map(({ kind, name, serverUrl, exchangesOpen }) => [
    `draining ${kind}`,
    `${[name, serverUrl].filter((part) => part !== '').join(' ')}: ${exchangesOpen} requests open`,
  ])
  return [
    ['open', `${load.connectionsOpen} connections, ${load.exchangesOpen} requests`],
    ...things,
  ]
}

function nodeText(node: FleetNode): string {
  const rows = [
    ['name', node.name],
    ['id', node.id],
    ['state', node.state],
    ['labels', labelsText(node.labels)],
    ['connected', node.isConnected ? `yes, from ${node.address}` : 'no'],
    ['last seen', timeText(node.lastSeenAt)],
    ['desired version', `${node.desiredVersion}`],
    ['applied version', `${node.version}`],
    ['applied', timeText(node.appliedAt)],
    ['software', node.softwareVersion],
    ['features', node.features.join(', ')],
    ['workers', `${node.workers}`],
    ['up for', node.uptimeSeconds === null ? '' : `${node.uptimeSeconds} s`],
    ['clock', node.clockOffsetMs === null ? '' : `${node.clockOffsetMs} ms ahead`],
    ...loadRows(node),
    ['certificate until', timeText(node.certificateExpiresAt)],
    ['joined', timeText(node.enrolledAt)],
  ]
  return [table(['NODE', ''], rows), ...noteLines(node)].join('\n')
}
