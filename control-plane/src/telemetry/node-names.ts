/** Telemetry is stored by node id and asked for by name; whoever owns the nodes tells which is which. */
export interface NodeNames {
  /** All nodes that ever enrolled. */
  nodeNames(): Promise<readonly { readonly id: string; readonly name: string }[]>
}
