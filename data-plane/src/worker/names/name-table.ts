/**
 * All names that servers of this worker are configured with. Looks each up when its time to live is over, one
 * lookup at a time for a name and never for a request. A name that cannot be looked up keeps its last good
 * addresses.
 */
import { limits } from '../../limits.ts'
import type { Notice } from '../../worker-protocol.ts'
import type { DeadlineSweep } from '../deadline-sweep.ts'
import type { Gauges } from '../observe/gauges.ts'
import type { FamilyAnswer, NameAnswer, NameLookup } from './name-lookup.ts'
import { WatchedName } from './watched-name.ts'

export interface NameTableOptions {
  readonly deadlines: DeadlineSweep
  readonly gauges: Gauges
  readonly lookup: NameLookup
  readonly onNotice: (notice: Notice) => void
}

export class NameTable {
  /** The addresses of a name are others now, or its first lookup has ended. */
  onChange: (name: WatchedName) => void = () => {}
  readonly #options: NameTableOptions
  readonly #names = new Map<string, WatchedName>()
  readonly #due: WatchedName[] = []
  #running = 0

  constructor(options: NameTableOptions) {
    this.#options = options
  }

  get(name: string): WatchedName | undefined {
    return this.#names.get(name)
  }

  release(name: string): void {
    const watched = this.#names.get(name)
    if (watched === undefined) return
    this.#names.delete(name)
    this.#options.deadlines.remove(watched)
    if (watched.isFailing) this.#options.gauges.namesFailing -= 1
  }

  watch(key: string): void {
    if (this.#names.has(key)) return
    const watched = new WatchedName(
      key,
      (name) => this.#enqueue(name),
      (name) => this.onChange(name),
    )
    this.#names.set(key, watched)
    this.#options.deadlines.add(watched)
    this.#enqueue(watched)
  }

  #enqueue(name: WatchedName): void {
    this.#due.push(name)
    this.#startDue()
  }

  #startDue(): void {
    while (this.#running < limits.nameLookupsMax) {
      const name = this.#due.shift()
      if (name === undefined) return
      if (this.#names.get(name.name) === name) void this.#refresh(name)
    }
  }

  async #refresh(name: WatchedName): Promise<void> {
    this.#running += 1
    const answer = await this.#options.lookup.lookUp(name.name)
    this.#running -= 1
    if (this.#names.get(name.name) === name) this.#take(name, answer)
    this.#startDue()
  }

  #take(name: WatchedName, answer: NameAnswer): void {
    const wasPending = name.isPending
    const wasFailing = name.isFailing
    const isOther = name.take(answer)
    const { deadlines, gauges } = this.#options
    name.deadlineAt = deadlines.after(name.refreshMs(answer))
    if (name.isFailing) gauges.nameLookupsFailed += 1
    if (name.isFailing !== wasFailing) this.#report(name, answer)
    if (isOther || wasPending) this.onChange(name)
  }

  /** Once for each time that a name begins or ends to fail. */
  #report({ name, isFailing, addresses }: WatchedName, answer: NameAnswer): void {
    this.#options.gauges.namesFailing += isFailing ? 1 : -1
    if (!isFailing) {
      this.#options.onNotice({ level: 'info', text: 'a name is known again', fields: { name } })
      return
    }
    const reason = `IPv4: ${reasonOf(answer.ipv4)}, IPv6: ${reasonOf(answer.ipv6)}`
    const text =
      addresses.length === 0
        ? 'a name of a server is not known, and there is no address to go on with'
        : 'a name of a server is not known any more; its last addresses are kept'
    this.#options.onNotice({ level: 'warn', text, fields: { name, reason } })
  }
}

function reasonOf(answer: FamilyAnswer): string {
  return answer.kind === 'failed' ? answer.reason : 'no address'
}
