/** The newest version as encoded bytes, made once and shared by all sessions. */
import type { PublishedVersion } from '../publishing/published-version.ts'
import { encodeConfigure } from './service-definitions.ts'

export class UpdateFrames {
  #version: PublishedVersion | undefined
  #frame: Buffer = Buffer.alloc(0)

  frameOf(version: PublishedVersion): Buffer {
    if (this.#version?.number !== version.number || this.#version.hash !== version.hash) {
      this.#frame = encodeConfigure({
        $case: 'update',
        value: {
          version: version.number,
          hash: version.hash,
          baseVersion: 0n,
          baseHash: '',
          content: {
            $case: 'full',
            value: {
              resources: version.resources.map(asBuffer),
              emptyOnPurpose: version.isEmptyOnPurpose,
            },
          },
        },
      })
      this.#version = version
    }
    return this.#frame
  }
}

/** The same memory, in the type that the encoder takes. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
