/**
 * Where the public cases run: one node without a control plane for a whole file of tests, before origins that
 * each test scripts. a.test goes to `origin`, pair.test to `origin` and `other` in turn.
 */
import type { Document } from './api-client.ts'
import { expectNoDesync } from './desync.ts'
import { router, service } from './fleet.ts'
import { ScriptedOrigin } from './origins/scripted-origin.ts'
import { freePort } from './ports.ts'
import type { Scope } from './scope.ts'
import { StaticNode, type StaticNodeOptions } from './static-node.ts'

/** The final head is due after this long, at the host late.test. */
export const LATE_MS = 500

export interface CaseOptions extends Omit<StaticNodeOptions, 'documents'> {
  /** In addition to the usual ones. */
  readonly documents?: (origins: readonly ScriptedOrigin[]) => readonly Document[]
}

export class CaseScene {
  readonly node: StaticNode
  readonly port: number
  readonly origin: ScriptedOrigin
  readonly other: ScriptedOrigin

  static async start(suite: Scope, options: CaseOptions = {}): Promise<CaseScene> {
    const { documents = () => [], ...rest } = options
    const origin = await ScriptedOrigin.start(suite)
    const other = await ScriptedOrigin.start(suite)
    const port = await freePort()
    const late = { timeouts: { firstByteMs: LATE_MS, idleMs: LATE_MS } }
    const node = await StaticNode.start(suite, {
      ...rest,
      documents: [
        { kind: 'entry-point', name: 'web', address: `127.0.0.1:${port}`, protocol: 'http' },
        service('a', [origin.port]),
        service('pair', [origin.port, other.port]),
        service('late', [origin.port], late),
        router('a', 'a.test', 'a'),
        router('pair', 'pair.test', 'pair'),
        router('late', 'late.test', 'late'),
        ...documents([origin, other]),
      ],
    })
    return new CaseScene(node, port, origin, other)
  }

  private constructor(
    node: StaticNode,
    port: number,
    origin: ScriptedOrigin,
    other: ScriptedOrigin,
  ) {
    this.node = node
    this.port = port
    this.origin = origin
    this.other = other
  }

  /** A second client afterwards sees nothing of what was done through the same connections. */
  async expectNoDesync(scope: Scope): Promise<void> {
    await expectNoDesync(scope, this.port, 'a.test', this.origin)
  }
}
