/**
 * The resources that a worker has applied, in the worker's order, and the message that takes it to others.
 * Resources that stay are the same Uint8Array in both versions (ResourceSet.withDelta): they are compared by
 * identity, and only what is new crosses to the worker.
 */
import type { Configure } from '../worker-protocol.ts'

export interface ResourceChange {
  readonly message: Pick<Configure, 'gone' | 'resources'>
  readonly after: HeldResources
}

export class HeldResources {
  static readonly none = new HeldResources([])
  readonly #inOrder: readonly Uint8Array[]

  private constructor(inOrder: readonly Uint8Array[]) {
    this.#inOrder = inOrder
  }

  to(wanted: readonly Uint8Array[]): ResourceChange {
    const missing = new Set(wanted)
    const stay: Uint8Array[] = []
    const gone: number[] = []
    for (const [place, bytes] of this.#inOrder.entries()) {
      if (missing.delete(bytes)) stay.push(bytes)
      else gone.push(place)
    }
    if (stay.length === 0)
      return { message: { resources: wanted }, after: new HeldResources(wanted) }
    const come = [...missing]
    return {
      message: { gone: Uint32Array.from(gone), resources: come },
      after: new HeldResources(stay.concat(come)),
    }
  }
}
