/** How long a real node takes from its start to ready, with nothing on its disk and then from its disk. */
import type { MeasuredControlPlane } from './control-plane.ts'
import { RealNode } from './real-node.ts'

export interface ColdStart {
  /** It joins, gets its identity and then the whole version. */
  readonly joinMs: number
  readonly fromDiskMs: number
}

export async function measureColdStart(
  controlPlane: MeasuredControlPlane,
  directory: string,
): Promise<ColdStart> {
  const startOnce = async () => {
    const node = await RealNode.start(controlPlane, directory)
    await node.stop()
    return node.readyMs
  }
  const joinMs = await startOnce()
  const fromDiskMs = await startOnce()
  return { joinMs, fromDiskMs }
}
