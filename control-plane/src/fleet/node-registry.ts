/**
 * The nodes: who enrolled, what each runs, and which are connected. What they run is in the database at
 * once; who is connected is known in memory only, so after a restart nobody is until it comes back.
 */
import type { IssuedNodeCertificate } from '../certificates/authority.ts'
import type { VersionSource } from '../publishing/published-version.ts'
import type { Database } from '../store/database.ts'
import {
  type EnrolmentOutcome,
  enrolNode,
  findNode,
  findNodeByName,
  forgetPreviousFingerprint,
  listNodeNames,
  listNodes,
  type NodeRecord,
  revokeNode,
  updateNode,
} from '../store/nodes.ts'
import { AppliedAnswers } from './applied-answers.ts'
import { readLabels } from './labels.ts'
import { fleetTimings } from './limits.ts'
import {
  type LiveNode,
  type NodeLoad,
  type NodeProblem,
  type NodeView,
  presentNode,
} from './node-view.ts'

export interface EnrolledNode {
  readonly id: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly certificate: IssuedNodeCertificate
}

/** What a node says of itself when it connects. */
export interface ConnectedNode {
  readonly address: string
  readonly bootId: string
  readonly softwareVersion: string
  readonly features: readonly string[]
  readonly workers: number
  readonly version: number
  readonly hash: string
  /** 0: nothing runs. */
  readonly appliedAtMs: number
  /** By the node's clock; 0: it does not tell. */
  readonly timeMs: number
  readonly uptimeMs: number
}

export class NodeRegistry {
  readonly #db: Database
  readonly #versions: VersionSource
  readonly #now: () => number
  readonly #answers: AppliedAnswers
  readonly #live = new Map<string, LiveNode>()
  readonly #goodbyes = new Set<Promise<void>>()
  readonly #revoked = new Set<string>()
  readonly #drainListeners = new Set<(nodeId: string, isDraining: boolean) => void>()
  readonly #revocationListeners = new Set<(nodeId: string) => void>()
  readonly #changeListeners = new Set<() => void>()

  constructor(options: {
    readonly db: Database
    readonly versions: VersionSource
    readonly now: () => number
  }) {
    this.#db = options.db
    this.#answers = new AppliedAnswers(options.db)
    this.#versions = options.versions
    this.#now = options.now
  }

  async list(): Promise<NodeView[]> {
    return (await listNodes(this.#db)).map((row) => this.#toView(row))
  }

  async find(nameOrId: string): Promise<NodeView | undefined> {
    const row = await this.#findRecord(nameOrId)
    return row === undefined ? undefined : this.#toView(row)
  }

  /** Ends a node's trust for good; undefined: there is no such node. */
  async revoke(nameOrId: string): Promise<NodeView | undefined> {
    const row = await this.#findRecord(nameOrId)
    if (row === undefined) {
      return undefined
    }
    await revokeNode(this.#db, row.id, this.#now())
    this.#revoked.add(row.id)
    for (const listener of this.#revocationListeners) {
      listener(row.id)
    }
    const live = this.#live.get(row.id)
    if (live !== undefined) {
      await this.disconnected(row.id, live.session)
    }
    this.#tellChanged()
    return this.find(row.id)
  }

  /** Calls back when a node is revoked. Returns the function that ends the subscription. */
  onRevoked(listener: (nodeId: string) => void): () => void {
    this.#revocationListeners.add(listener)
    return () => this.#revocationListeners.delete(listener)
  }

  /** Calls back when what is known of any node changed. Returns the function that ends the subscription. */
  onChanged(listener: () => void): () => void {
    this.#changeListeners.add(listener)
    return () => this.#changeListeners.delete(listener)
  }

  #tellChanged(): void {
    for (const listener of this.#changeListeners) listener()
  }

  /** Whether a node should take no new connections; undefined: there is no such node. */
  async setDraining(nameOrId: string, isDraining: boolean): Promise<NodeView | undefined> {
    const row = await this.#findRecord(nameOrId)
    if (row === undefined) {
      return undefined
    }
    await updateNode(this.#db, row.id, { is_draining: isDraining ? 1 : 0 })
    for (const listener of this.#drainListeners) {
      listener(row.id, isDraining)
    }
    this.#tellChanged()
    return this.find(row.id)
  }

  /** Calls back when a node is to drain or no longer. Returns the function that ends the subscription. */
  onDraining(listener: (nodeId: string, isDraining: boolean) => void): () => void {
    this.#drainListeners.add(listener)
    return () => this.#drainListeners.delete(listener)
  }

  async isDraining(nodeId: string): Promise<boolean> {
    return (await findNode(this.#db, nodeId))?.is_draining === 1
  }

  /** What the node says is still open. */
  loadRead(nodeId: string, session: object, load: NodeLoad): void {
    const live = this.#live.get(nodeId)
    if (live?.session === session) live.load = load
  }

  /** True when the node was revoked since we started: for those who looked it up before. */
  wasRevoked(nodeId: string): boolean {
    return this.#revoked.has(nodeId)
  }

  nodeNames(): Promise<{ id: string; name: string }[]> {
    return listNodeNames(this.#db)
  }

  findRecord(nodeId: string): Promise<NodeRecord | undefined> {
    return findNode(this.#db, nodeId)
  }

  enrol(tokenId: string, node: EnrolledNode, address: string): Promise<EnrolmentOutcome> {
    const row = {
      id: node.id,
      name: node.name,
      labels: JSON.stringify(node.labels),
      enrolled_at_ms: this.#now(),
      fingerprint: node.certificate.fingerprint,
      certificate_expires_at_ms: node.certificate.expiresAtMs,
    }
    return enrolNode(this.#db, tokenId, row, address)
  }

  /** A node that was away for longer than its certificate is good for, and may join again under its name. */
  async findExpired(name: string): Promise<NodeRecord | undefined> {
    const row = await findNodeByName(this.#db, name)
    const mayJoinAgain =
      row?.revoked_at_ms === null &&
      row.certificate_expires_at_ms <= this.#now() &&
      !this.#live.has(row.id)
    return mayJoinAgain ? row : undefined
  }

  /** The certificate in use is the current one, so the one before it is no longer accepted. */
  confirmCertificate(nodeId: string, fingerprint: string): Promise<void> {
    return forgetPreviousFingerprint(this.#db, nodeId, fingerprint)
  }

  /** `inUse` stays accepted until the new certificate was seen: its owner may never get the answer. */
  async renewCertificate(
    nodeId: string,
    inUse: string,
    certificate: IssuedNodeCertificate,
  ): Promise<void> {
    await updateNode(this.#db, nodeId, {
      fingerprint: certificate.fingerprint,
      previous_fingerprint: inUse,
      certificate_expires_at_ms: certificate.expiresAtMs,
    })
  }

  /** Returns the hash that the node refused and must not be sent again, if there is one. */
  async connected(
    nodeId: string,
    session: object,
    node: ConnectedNode,
  ): Promise<string | undefined> {
    const nowMs = this.#now()
    const before = await findNode(this.#db, nodeId)
    // A new process may accept what the one before refused: its software or its machine may have changed.
    const isSameProcess = before?.boot_id === node.bootId
    const hasRejected = isSameProcess && before.rejected_hash !== null
    await updateNode(this.#db, nodeId, {
      connected_at_ms: nowMs,
      last_seen_at_ms: nowMs,
      address: node.address,
      boot_id: node.bootId,
      software_version: node.softwareVersion,
      features: JSON.stringify(node.features),
      workers: node.workers,
      version: node.version,
      hash: node.hash,
      applied_at_ms: node.appliedAtMs === 0 ? null : node.appliedAtMs,
      ...(before?.hash === node.hash ? {} : { took_ms: null }),
      ...(hasRejected ? {} : noRejection),
    })
    this.#live.set(nodeId, {
      session,
      connectedAtMs: nowMs,
      startedAtMs: performance.now() - node.uptimeMs,
      load: undefined,
      clockOffsetMs: node.timeMs === 0 ? undefined : node.timeMs - nowMs,
      lastSeenAtMs: nowMs,
      savedAtMs: nowMs,
    })
    this.#tellChanged()
    return hasRejected ? (before.rejected_hash ?? undefined) : undefined
  }

  async disconnected(nodeId: string, session: object): Promise<void> {
    const live = this.#live.get(nodeId)
    if (live?.session !== session) {
      return
    }
    this.#live.delete(nodeId)
    this.#tellChanged()
    const recorded = updateNode(this.#db, nodeId, { last_seen_at_ms: live.lastSeenAtMs })
    this.#goodbyes.add(recorded)
    await recorded.finally(() => this.#goodbyes.delete(recorded))
  }

  /** Resolves when every disconnect that was told is recorded, well or not. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#goodbyes)
  }

  async seen(nodeId: string, session: object): Promise<void> {
    const live = this.#live.get(nodeId)
    if (live?.session !== session) {
      return
    }
    live.lastSeenAtMs = this.#now()
    // The clock may have been set back since.
    if (Math.abs(live.lastSeenAtMs - live.savedAtMs) >= fleetTimings.lastSeenSavedMs) {
      live.savedAtMs = live.lastSeenAtMs
      await updateNode(this.#db, nodeId, { last_seen_at_ms: live.lastSeenAtMs })
    }
  }

  /** What the node's clock shows at this moment. */
  clockRead(nodeId: string, session: object, nodeTimeMs: number): void {
    const live = this.#live.get(nodeId)
    if (live?.session === session) live.clockOffsetMs = nodeTimeMs - this.#now()
  }

  async applied(
    nodeId: string,
    update: { readonly version: number; readonly hash: string; readonly tookMs: number },
  ): Promise<void> {
    await this.#answers.record({ id: nodeId, ...update, appliedAtMs: this.#now() })
    this.#tellChanged()
  }

  async rejected(
    nodeId: string,
    update: {
      readonly version: number
      readonly hash: string
      readonly problems: readonly NodeProblem[]
    },
  ): Promise<void> {
    await updateNode(this.#db, nodeId, {
      rejected_version: update.version,
      rejected_hash: update.hash,
      rejected_at_ms: this.#now(),
      rejected_problems: JSON.stringify(update.problems),
    })
    this.#tellChanged()
  }

  async #findRecord(nameOrId: string): Promise<NodeRecord | undefined> {
    return (await findNode(this.#db, nameOrId)) ?? (await findNodeByName(this.#db, nameOrId))
  }

  #toView(row: NodeRecord): NodeView {
    const desired = this.#versions.currentFor({ name: row.name, labels: readLabels(row.labels) })
    return presentNode(row, this.#live.get(row.id), desired, this.#now())
  }
}

const noRejection = Object.freeze({
  rejected_version: null,
  rejected_hash: null,
  rejected_at_ms: null,
  rejected_problems: null,
})
