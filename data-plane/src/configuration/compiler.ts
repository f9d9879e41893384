/** Compiles one version after the other, and reads only what the one before did not have. */
import { type CompileResult, compileParts } from './compile.ts'
import { type ResourcePart, readResource } from './resource-part.ts'

export class Compiler {
  /** Of the last version, by its bytes: what stays between versions is the same Uint8Array. */
  #parts: ReadonlyMap<Uint8Array, ResourcePart> = new Map()

  compile(resources: readonly Uint8Array[]): CompileResult {
    const parts = new Map<Uint8Array, ResourcePart>()
    for (const bytes of resources) parts.set(bytes, this.#parts.get(bytes) ?? readResource(bytes))
    this.#parts = parts
    return compileParts([...parts.values()])
  }
}
