/** A control plane with enrolled nodes that all serve the same version: where most tests begin. */
import type { ApiClient, Document, FleetStatus, NodeView, Page } from './api-client.ts'
import { ControlPlane } from './control-plane.ts'
import { DataPlaneNode, type NodeOptions } from './data-plane-node.ts'
import { eventually } from './eventually.ts'
import { freePort } from './ports.ts'
import type { Scope } from './scope.ts'

export interface FleetOptions {
  readonly nodes?: number
  readonly workers?: number
  /** Applied before the nodes start. An entry point named web is there in any case. */
  readonly resources?: readonly Document[]
  readonly drainGraceSeconds?: number
}

export class Fleet {
  readonly controlPlane: ControlPlane
  readonly nodes: readonly DataPlaneNode[]

  constructor(controlPlane: ControlPlane, nodes: readonly DataPlaneNode[]) {
    this.controlPlane = controlPlane
    this.nodes = nodes
  }

  get api(): ApiClient {
    return this.controlPlane.api
  }

  get node(): DataPlaneNode {
    const [first] = this.nodes
    if (first === undefined) throw new Error('the fleet has no node')
    return first
  }

  nodeView(name = this.node.name): Promise<NodeView> {
    return this.api.get<NodeView>(`/api/v1/nodes/${name}`)
  }

  async nodeViews(): Promise<readonly NodeView[]> {
    return (await this.api.get<Page<NodeView>>('/api/v1/nodes')).items
  }

  status(): Promise<FleetStatus> {
    return this.api.get<FleetStatus>('/api/v1/status')
  }

  /** Applies the resources and waits until every node serves the version. */
  async publish(...resources: readonly Document[]): Promise<number> {
    const { version } = await this.api.apply(...resources)
    await this.untilInSync(version)
    return version
  }

  async untilInSync(version?: number, withinMs = 10_000): Promise<void> {
    const that = `every node in sync${version === undefined ? '' : ` with version ${version}`}`
    await eventually(
      async () => {
        const views = await this.nodeViews()
        return views.every(
          (view) => view.state === 'in-sync' && (version ?? view.version) === view.version,
        )
      },
      { withinMs, that },
    )
  }
}

export async function startFleet(scope: Scope, options: FleetOptions = {}): Promise<Fleet> {
  const { nodes = 1, workers = 1, resources = [], drainGraceSeconds } = options
  const controlPlane = await ControlPlane.start(scope)
  const entryPoints = entryPointsOf(resources)
  await controlPlane.api.apply(
    ...entryPoints,
    ...resources.filter((one) => one.kind !== 'entry-point'),
  )
  const started: DataPlaneNode[] = []
  for (let index = 1; index <= nodes; index += 1) {
    const grace = drainGraceSeconds === undefined ? {} : { drainGraceSeconds }
    const names = entryPoints.map((one) => String(one.name))
    started.push(
      await joinNode(scope, controlPlane, { name: `n${index}`, workers, ...grace }, names),
    )
  }
  await Promise.all(started.map((node) => node.untilReady()))
  const fleet = new Fleet(controlPlane, started)
  await fleet.untilInSync()
  return fleet
}

/** Enrols one more node, with a port of its own for each entry point. */
export async function joinNode(
  scope: Scope,
  controlPlane: ControlPlane,
  options: Partial<NodeOptions> & { readonly name: string },
  entryPoints: readonly string[] = ['web'],
): Promise<DataPlaneNode> {
  const ports: Record<string, number> = {}
  for (const name of entryPoints) ports[name] = await freePort()
  return DataPlaneNode.start(scope, {
    controlPlane: controlPlane.fleetAddress,
    joinToken: await controlPlane.createJoinToken(),
    ports,
    ...options,
  })
}

function entryPointsOf(resources: readonly Document[]): Document[] {
  const given = resources.filter((one) => one.kind === 'entry-point')
  const hasWeb = given.some((one) => one.name === 'web')
  return hasWeb ? given : [entryPoint('web'), ...given]
}

export function entryPoint(name: string, fields: Document = {}): Document {
  const address = placeholderFor(name)
  return { kind: 'entry-point', name, address, protocol: 'http', ...fields }
}

// Never listened on: each node is started with an address of its own for each entry point. It must only
// differ between entry points.
function placeholderFor(name: string): string {
  const sum = [...Buffer.from(name)].reduce((total, byte) => total + byte, 0)
  return `127.0.0.1:${sum}`
}

export function service(name: string, ports: readonly number[], fields: Document = {}): Document {
  const servers = ports.map((port) => ({ url: `http://127.0.0.1:${port}` }))
  return { kind: 'service', name, servers, ...fields }
}

export function router(name: string, host: string, to: string, fields: Document = {}): Document {
  return { kind: 'router', name, match: { hosts: [host] }, service: to, ...fields }
}
