/** A broken invariant. Thrown wherever it is seen, through whatever engine code stands on the stack. */
export class SimulationFault extends Error {
  override readonly name = 'SimulationFault'
}

export function demand(isTrue: boolean, message: () => string): asserts isTrue {
  if (!isTrue) throw new SimulationFault(message())
}
