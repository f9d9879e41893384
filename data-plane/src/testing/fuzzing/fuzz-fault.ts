/** A property that does not hold for an input, with the input. */
export class FuzzFault extends Error {
  override readonly name = 'FuzzFault'

  constructor(what: string, input: Buffer) {
    super(`${what}: ${JSON.stringify(input.toString('latin1'))}`)
  }
}

export function expectOf(input: Buffer, isTrue: boolean, what: () => string): void {
  if (!isTrue) throw new FuzzFault(what(), input)
}
