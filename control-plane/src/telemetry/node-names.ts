/** Telemetry is stored by node id and asked for by name; whoever owns the nodes tells which is which. */
export interface NodeNames {
  /** All nodes that ever enrolled. */
  nodeNames(): Promise<readonly { readonly id: string; readonly name: string }[]>
}

/** A revoked node may have had the name before, so a name can stand for several ids. */
export function idsOfNodes(
  asked: readonly string[],
  names: readonly { readonly id: string; readonly name: string }[],
): string[] {
  return names
    .filter(({ id, name }) => asked.includes(id) || asked.includes(name))
    .map(({ id }) => id)
}
