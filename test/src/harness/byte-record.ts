/** Bytes as they come. What was handed out stays as it was: bytes are only ever added behind it. */
export class ByteRecord {
  #buffer = Buffer.alloc(4096)
  #length = 0

  append(bytes: Buffer): void {
    const length = this.#length + bytes.length
    if (length > this.#buffer.length) {
      const grown = Buffer.alloc(Math.max(length, this.#buffer.length * 2))
      this.#buffer.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
    }
    bytes.copy(this.#buffer, this.#length)
    this.#length = length
  }

  get length(): number {
    return this.#length
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }
}
