/** CPU time and memory of other processes, connections, and which CPUs there are, as Linux tells it under /proc. */
import { readFileSync } from 'node:fs'
import { processorsIn } from './machine/process-tree.ts'

/** Kernel ticks per second in /proc/PID/stat: USER_HZ, 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/** Seconds of CPU, user and system, that the process has used so far with all its threads. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in parentheses may hold spaces, so fields are counted from its end. man 5 proc_pid_stat.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Seconds that the process's main thread was ready to run and did not: others had its CPU. */
export function delayedSeconds(pid: number): number {
  const [, waited] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
  return Number(waited) / 1e9
}

/** Memory that its end would give back. */
export function privateBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const parts = [...text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB$/gm)]
  return parts.reduce((sum, [, kib]) => sum + Number(kib) * 1024, 0)
}

/** Connections that programs of this machine have begun so far. */
export function connectionsBegun(): number {
  const [names, values] = readFileSync('/proc/net/snmp', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('Tcp:'))
    .map((line) => line.split(' '))
  return Number(values?.[names?.indexOf('ActiveOpens') ?? -1])
}

/** The CPUs that this process may use. */
export function allowedCpus(): number[] {
  const status = readFileSync('/proc/self/status', 'utf8')
  const list = /^Cpus_allowed_list:\s*(.+)$/m.exec(status)?.[1] ?? ''
  return processorsIn(list)
}

export function cpuModel(): string {
  return /^model name\s*:\s*(.+)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? 'unknown'
}
