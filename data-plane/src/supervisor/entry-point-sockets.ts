/**
 * Which socket belongs to which entry point. A change is planned first: what is new is bound beside what
 * is there, and sockets whose address stays, under whatever name, are kept. Then it is committed or abandoned.
 */
import { type Problem, ResourceKind } from '@sluice/proto'
import { problem } from '../configuration/problems.ts'
import { type ListeningSocket, openListeningSocket } from './listening-sockets.ts'
import type { BoundEntryPoint } from './worker-process.ts'

export interface WantedEntryPoint {
  readonly name: string
  readonly address: string
  readonly protocol: string
}

export interface SocketPlan {
  readonly entryPoints: ReadonlyMap<string, BoundEntryPoint>
  readonly opened: readonly ListeningSocket[]
}

export type PlanOutcome =
  | { readonly kind: 'planned'; readonly plan: SocketPlan }
  | { readonly kind: 'failed'; readonly problems: readonly Problem[] }

export class EntryPointSockets {
  /** Addresses that this node was told for entry points by name. */
  readonly #overrides: Readonly<Record<string, string>>
  #current: ReadonlyMap<string, BoundEntryPoint> = new Map()

  constructor(overrides: Readonly<Record<string, string>>) {
    this.#overrides = overrides
  }

  /** Name and bound address of each entry point. */
  addresses(): { name: string; address: string }[] {
    return [...this.#current].map(([name, { socket }]) => ({ name, address: socket.address }))
  }

  async plan(wanted: readonly WantedEntryPoint[]): Promise<PlanOutcome> {
    const keepable = this.#keepable(wanted)
    const entryPoints = new Map<string, BoundEntryPoint>()
    const opened: ListeningSocket[] = []
    const problems: Problem[] = []
    for (const { name, address, protocol } of wanted) {
      const asked = this.#askedBy(name, address)
      const kept = keepable.get(name)
      const outcome =
        kept === undefined
          ? await openListeningSocket(asked)
          : { kind: 'open' as const, socket: kept }
      if (outcome.kind === 'failed') {
        problems.push(addressProblem(name, outcome.reason))
        continue
      }
      const { socket } = outcome
      if (kept === undefined) opened.push(socket)
      const other = holderOf(socket.address, entryPoints)
      if (other !== undefined) {
        problems.push(addressProblem(name, `${socket.address} is entry point ${other}'s already`))
      }
      entryPoints.set(name, { socket, protocol })
    }
    if (problems.length === 0) return { kind: 'planned', plan: { entryPoints, opened } }
    for (const socket of opened) socket.close()
    return { kind: 'failed', problems }
  }

  /**
   * The sockets that stay, by the entry points that will have them: those of the same name first, since with
   * port 0 several are asked for alike and are not the same.
   */
  #keepable(wanted: readonly WantedEntryPoint[]): Map<string, ListeningSocket> {
    const keepable = new Map<string, ListeningSocket>()
    const free = new Set([...this.#current.values()].map(({ socket }) => socket))
    const keep = (name: string, socket: ListeningSocket | undefined) => {
      if (socket === undefined || !free.delete(socket)) return
      keepable.set(name, socket)
    }
    for (const { name, address } of wanted) {
      const own = this.#current.get(name)?.socket
      if (own?.asked === this.#askedBy(name, address)) keep(name, own)
    }
    for (const { name, address } of wanted) {
      if (keepable.has(name)) continue
      const asked = this.#askedBy(name, address)
      const renamed = [...free].find((socket) => socket.asked === asked)
      keep(name, renamed)
    }
    return keepable
  }

  #askedBy(name: string, address: string): string {
    return this.#overrides[name] ?? address
  }

  /** The plan is in force: what it does not use is closed. */
  commit({ entryPoints }: SocketPlan): void {
    const used = new Set([...entryPoints.values()].map(({ socket }) => socket))
    for (const { socket } of this.#current.values()) if (!used.has(socket)) socket.close()
    this.#current = entryPoints
  }

  abandon({ opened }: SocketPlan): void {
    for (const socket of opened) socket.close()
  }

  close(): void {
    for (const { socket } of this.#current.values()) socket.close()
    this.#current = new Map()
  }
}

/** Two sockets that do not listen yet may be bound alike; the second would fail only in the workers. */
function holderOf(
  address: string,
  entryPoints: ReadonlyMap<string, BoundEntryPoint>,
): string | undefined {
  for (const [name, { socket }] of entryPoints) if (socket.address === address) return name
  return undefined
}

function addressProblem(name: string, reason: string): Problem {
  return problem(ResourceKind.ENTRY_POINT, name, 'address', reason)
}
