/**
 * Bundles: what a machine needs to serve as a new node before it has reached the control plane, and to join when
 * it does. A bundle holds a join token and the private keys of its certificates in the clear.
 */
import { Update } from '@sluice/proto'
import { findLabelProblem, type Labels } from '../model/labels.ts'
import type { VersionSource } from '../publishing/published-version.ts'
import type { Database } from '../store/database.ts'
import { findNodeNameProblem } from './enrolment.ts'
import { JoinTokenError, type JoinTokens } from './join-tokens.ts'

export interface NodeBundle {
  readonly format: 'sluice-node-bundle-1'
  readonly name: string
  readonly labels: Labels
  readonly version: number
  /** Of what a node with these labels gets of the version. */
  readonly hash: string
  /** A sluice.v1 Update with the whole of it, base64. */
  readonly update: string
  readonly joinToken: string
  /** To take the token back before it is used. */
  readonly joinTokenId: string
  readonly expiresAt: string
}

export interface NodeBundleRequest {
  readonly name: string
  readonly labels?: Labels | undefined
  readonly expiresInSeconds?: number | undefined
}

/** A bundle is meant to lie about for a while. */
export const bundleSecondsDefault = 7 * 86_400

export class NodeBundles {
  readonly #versions: VersionSource
  readonly #tokens: JoinTokens

  constructor(versions: VersionSource, tokens: JoinTokens) {
    this.#versions = versions
    this.#tokens = tokens
  }

  /** Throws JoinTokenError where the request is wrong. Undefined: nothing is published yet. */
  async create(
    request: NodeBundleRequest,
    alongside?: (transaction: Database) => Promise<void>,
  ): Promise<NodeBundle | undefined> {
    const { name, labels = {}, expiresInSeconds = bundleSecondsDefault } = request
    const nameProblem = findNodeNameProblem(name)
    if (nameProblem !== undefined) throw new JoinTokenError('name', nameProblem)
    const labelProblem = findLabelProblem(labels)
    if (labelProblem !== undefined) throw new JoinTokenError('labels', labelProblem)
    const newest = this.#versions.currentFor({ name, labels })
    if (newest === undefined) return undefined
    const view = newest.viewFor(labels)
    const resources = Array.from(view.entries.values(), ({ encoded }) => Buffer.from(encoded))
    const content = {
      $case: 'full' as const,
      value: { resources, emptyOnPurpose: view.isEmptyOnPurpose },
    }
    const { number: version } = newest
    const update = { version, hash: view.hash, baseVersion: 0n, baseHash: '', content }
    const token = await this.#tokens.create({ labels, expiresInSeconds, uses: 1 }, alongside)
    return {
      format: 'sluice-node-bundle-1',
      name,
      labels,
      version: Number(version),
      hash: view.hash,
      update: Buffer.from(Update.encode(update).finish()).toString('base64'),
      joinToken: token.token,
      joinTokenId: token.id,
      expiresAt: token.expiresAt,
    }
  }
}
