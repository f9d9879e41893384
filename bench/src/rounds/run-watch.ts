/** Counters of one run: read when its measured part begins and ends, and every second between. */

import { readFileSync } from 'node:fs'
import type { RunNetwork, RunProcessor, RunSurroundings } from '../artifacts/records.ts'
import {
  delayByOthersNs,
  processorsIn,
  type TreeUsage,
  usageBetween,
  usageOf,
} from '../machine/process-tree.ts'
import {
  readSystemCounters,
  type SystemCounters,
  systemChange,
  timeWaitSockets,
} from '../machine/system-counters.ts'

export interface Processors {
  readonly proxy: string
  readonly load: string
}

export interface SecondSample {
  readonly cpu: number | null
  readonly foreign: number | null
}

interface Reading {
  readonly atMs: number
  readonly tree: TreeUsage
  readonly requests: TreeUsage
  readonly origin: TreeUsage
  readonly system: SystemCounters
  readonly ownNs: number
}

export interface Watched {
  /** Of the proxy under test; nothing for the origin alone. */
  processes(): readonly number[]
  requestProcesses(): readonly number[]
  originProcesses(): readonly number[]
}

export class RunWatch {
  readonly #watched: Watched
  readonly #processors: Processors
  readonly #samples: SecondSample[] = []
  #from: Reading | undefined
  #to: Reading | undefined
  #last: Reading | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(watched: Watched, processors: Processors) {
    this.#watched = watched
    this.#processors = processors
  }

  begin(): void {
    this.#from = this.#read()
    this.#last = this.#from
    this.#timer = setInterval(() => this.#sample(), 1_000)
  }

  end(): void {
    clearInterval(this.#timer)
    this.#to ??= this.#read()
  }

  get samples(): readonly SecondSample[] {
    return this.#samples
  }

  processor(idleShare: number | null): RunProcessor | null {
    const [from, to] = this.#span()
    const pids = this.#watched.processes()
    if (pids.length === 0) return null
    const processors = processorsIn(this.#processors.proxy).length
    return {
      run_ns: to.tree.runNs - from.tree.runNs,
      delay_ns: delayByOthersNs(usageBetween(from.tree, to.tree), processors),
      elapsed_ns: (to.atMs - from.atMs) * 1e6 * processors,
      voluntary: to.tree.voluntarySwitches - from.tree.voluntarySwitches,
      involuntary: to.tree.involuntarySwitches - from.tree.involuntarySwitches,
      request_run_ns: to.requests.runNs - from.requests.runNs,
      threads: to.tree.threads,
      allowed: [...new Set(pids.flatMap(allowedOf))],
      idle_share: idleShare,
    }
  }

  /** `loadNs` is the CPU that the load generator had. */
  surroundings(loadNs: number): Omit<RunSurroundings, 'calibration' | 'hiccup_p99_us'> {
    const [from, to] = this.#span()
    const { proxy, load } = this.#processors
    const proxyNs = to.tree.runNs - from.tree.runNs
    const others = to.origin.runNs - from.origin.runNs + (to.ownNs - from.ownNs) + loadNs
    const all = systemChange(from.system, to.system, {
      processors: [...new Set([...processorsIn(proxy), ...processorsIn(load)])].join(','),
      ownNs: proxyNs + others,
    })
    const loadSide = systemChange(from.system, to.system, { processors: load, ownNs: others })
    return {
      steal: all.stealShare,
      foreign: all.foreignShare,
      load_cpu_idle: loadSide.idleShare,
      psi_some: all.pressureShare ?? 0,
    }
  }

  network(exhausted: { readonly ports: number; readonly files: number }): RunNetwork {
    const [from, to] = this.#span()
    const change = systemChange(from.system, to.system, {
      processors: this.#processors.load,
      ownNs: 0,
    })
    return {
      time_wait: timeWaitSockets(),
      listen_overflows: change.listenOverflows,
      listen_drops: change.listenDrops,
      tcp_timeouts: change.tcpTimeouts,
      out_of_ports: exhausted.ports,
      out_of_files: exhausted.files,
    }
  }

  #sample(): void {
    const before = this.#last
    const now = this.#read()
    this.#last = now
    if (before === undefined) return
    const elapsedNs = (now.atMs - before.atMs) * 1e6
    const ownNs = now.tree.runNs - before.tree.runNs
    const { foreignShare } = systemChange(before.system, now.system, {
      processors: this.#processors.proxy,
      ownNs,
    })
    const hasProxy = now.tree.threads > 0
    this.#samples.push({
      cpu: hasProxy ? ownNs / elapsedNs : null,
      foreign: hasProxy ? foreignShare : null,
    })
  }

  #span(): readonly [Reading, Reading] {
    const from = this.#from
    const to = this.#to
    if (from === undefined || to === undefined) throw new Error('a run was judged before it ended')
    return [from, to]
  }

  #read(): Reading {
    const { user, system } = process.cpuUsage()
    return {
      atMs: performance.now(),
      tree: usageOf(this.#watched.processes()),
      requests: usageOf(this.#watched.requestProcesses()),
      origin: usageOf(this.#watched.originProcesses()),
      system: readSystemCounters(),
      ownNs: (user + system) * 1_000,
    }
  }
}

function allowedOf(pid: number): string[] {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return /^Cpus_allowed_list:\s*(.+)$/m.exec(status)?.slice(1) ?? []
  } catch (error) {
    // It ended between the listing and the reading.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
