/** Counters of the whole machine, read before and after a run: who else had the CPUs, and what the kernel dropped. */
import { readFileSync } from 'node:fs'
import { processorsIn } from './process-tree.ts'

const TICK_NS = 1e7

export interface SystemCounters {
  readonly atMs: number
  /** By CPU, in ns. */
  readonly processors: ReadonlyMap<
    number,
    { readonly busyNs: number; readonly stealNs: number; readonly idleNs: number }
  >
  /** µs in which some task waited for a CPU; undefined: the kernel does not tell. */
  readonly pressureUs: number | undefined
  readonly listenOverflows: number
  readonly listenDrops: number
  readonly tcpTimeouts: number
  readonly connectionsBegun: number
  readonly retransmitted: number
}

export interface SystemChange {
  readonly seconds: number
  /** Of the CPUs' time: what ran that was not ours, what the hypervisor took, what was idle. */
  readonly foreignShare: number
  readonly stealShare: number
  readonly idleShare: number
  /** Of the time: some task waited for a CPU. */
  readonly pressureShare: number | undefined
  readonly listenOverflows: number
  readonly listenDrops: number
  readonly tcpTimeouts: number
  readonly connectionsBegun: number
  readonly retransmitted: number
}

export function readSystemCounters(): SystemCounters {
  const netstat = { ...namedCounters('/proc/net/netstat'), ...namedCounters('/proc/net/snmp') }
  return {
    atMs: performance.now(),
    processors: processorTimes(),
    pressureUs: cpuPressureUs(),
    listenOverflows: netstat['TcpExt.ListenOverflows'] ?? 0,
    listenDrops: netstat['TcpExt.ListenDrops'] ?? 0,
    tcpTimeouts: netstat['TcpExt.TCPTimeouts'] ?? 0,
    connectionsBegun: netstat['Tcp.ActiveOpens'] ?? 0,
    retransmitted: netstat['Tcp.RetransSegs'] ?? 0,
  }
}

/** `ownNs` is the CPU time of all that the benchmark itself ran on these CPUs meanwhile. */
export function systemChange(
  before: SystemCounters,
  after: SystemCounters,
  { processors, ownNs }: { readonly processors: string; readonly ownNs: number },
): SystemChange {
  let [busy, steal, idle] = [0, 0, 0]
  for (const cpu of processorsIn(processors)) {
    const from = before.processors.get(cpu)
    const to = after.processors.get(cpu)
    if (from === undefined || to === undefined) throw new Error(`/proc/stat has no cpu${cpu}`)
    busy += to.busyNs - from.busyNs
    steal += to.stealNs - from.stealNs
    idle += to.idleNs - from.idleNs
  }
  const seconds = (after.atMs - before.atMs) / 1000
  const total = Math.max(busy + steal + idle, 1)
  return {
    seconds,
    foreignShare: Math.max(0, busy - ownNs) / total,
    stealShare: steal / total,
    idleShare: idle / total,
    pressureShare:
      before.pressureUs === undefined || after.pressureUs === undefined
        ? undefined
        : (after.pressureUs - before.pressureUs) / 1e6 / seconds,
    listenOverflows: after.listenOverflows - before.listenOverflows,
    listenDrops: after.listenDrops - before.listenDrops,
    tcpTimeouts: after.tcpTimeouts - before.tcpTimeouts,
    connectionsBegun: after.connectionsBegun - before.connectionsBegun,
    retransmitted: after.retransmitted - before.retransmitted,
  }
}

/** Sockets in TIME_WAIT, each of which keeps a port of its pair of addresses. */
export function timeWaitSockets(): number {
  return Number(/^TCP:.* tw (\d+)/m.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1] ?? 0)
}

function processorTimes(): SystemCounters['processors'] {
  const times = new Map<number, { busyNs: number; stealNs: number; idleNs: number }>()
  for (const line of readFileSync('/proc/stat', 'utf8').split('\n')) {
    const matched = /^cpu(\d+) (.+)$/.exec(line)
    if (matched === null) continue
    // user nice system idle iowait irq softirq steal; guest time is part of user. man 5 proc_stat.
    const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softIrq = 0, steal = 0] =
      (matched[2] ?? '').split(' ').map(Number)
    times.set(Number(matched[1]), {
      busyNs: (user + nice + system + irq + softIrq) * TICK_NS,
      stealNs: steal * TICK_NS,
      idleNs: (idle + waiting) * TICK_NS,
    })
  }
  return times
}

function cpuPressureUs(): number | undefined {
  try {
    const some = /^some .*total=(\d+)$/m.exec(readFileSync('/proc/pressure/cpu', 'utf8'))
    return some === null ? undefined : Number(some[1])
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EOPNOTSUPP') return undefined
    throw error
  }
}

/** Two lines for each group: its names and its values. */
function namedCounters(file: string): Record<string, number> {
  const counters: Record<string, number> = {}
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const [group = '', ...names] = (lines[at] ?? '').split(' ')
    const values = (lines[at + 1] ?? '').split(' ').slice(1)
    names.forEach((name, index) => {
      counters[`${group.slice(0, -1)}.${name}`] = Number(values[index])
    })
  }
  return counters
}
