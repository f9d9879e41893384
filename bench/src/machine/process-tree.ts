/**
 * The processes of one process group and what the kernel says of each of their tasks. A proxy is started as the
 * leader of a group of its own, so its group is its tree, also where a master forks workers.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Kernel ticks per second in /proc/PID/stat: USER_HZ, 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

export interface TreeUsage {
  /** CPU of all tasks that live, in ns (task schedstat). */
  readonly runNs: number
  /** Time in which they were ready to run and did not. */
  readonly delayNs: number
  readonly voluntarySwitches: number
  readonly involuntarySwitches: number
  /** User and system time, dead threads and awaited children included, in whole ticks. */
  readonly ticksNs: number
  readonly threads: number
  /** Of each task, by its number. */
  readonly tasks: ReadonlyMap<string, TaskUsage>
}

interface TaskUsage {
  readonly runNs: number
  readonly delayNs: number
}

export interface TreeMemory {
  /** Pss_Anon: pages shared by a fork count once over the tree. Takes the memory map's lock of each process. */
  readonly privateBytes: number
  readonly residentAnonymousBytes: number
  /** Sum of the processes' own peaks of resident memory. */
  readonly residentPeakBytes: number
}

/** The living processes of the group, its leader first. */
export function processesOfGroup(group: number): number[] {
  const found: number[] = []
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const fields = statFields(pid)
    // A zombie (Z) has ended; its parent has yet to be told.
    if (fields !== undefined && Number(fields[2]) === group && fields[0] !== 'Z') found.push(pid)
  }
  return found.sort(
    (left, right) => Number(right === group) - Number(left === group) || left - right,
  )
}

export function usageOf(pids: readonly number[]): TreeUsage {
  const sum = { runNs: 0, delayNs: 0, voluntary: 0, involuntary: 0, ticks: 0, threads: 0 }
  const tasks = new Map<string, TaskUsage>()
  for (const pid of pids) {
    const fields = statFields(pid)
    // utime, stime, cutime, cstime. man 5 proc_pid_stat.
    for (const index of [11, 12, 13, 14]) sum.ticks += Number(fields?.[index] ?? 0)
    for (const task of tasksOf(pid)) {
      sum.threads += 1
      const [run = '0', delay = '0'] = readOr(`/proc/${pid}/task/${task}/schedstat`).split(' ')
      sum.runNs += Number(run)
      sum.delayNs += Number(delay)
      tasks.set(task, { runNs: Number(run), delayNs: Number(delay) })
      const status = readOr(`/proc/${pid}/task/${task}/status`)
      sum.voluntary += numberIn(status, /^voluntary_ctxt_switches:\s+(\d+)$/m)
      sum.involuntary += numberIn(status, /^nonvoluntary_ctxt_switches:\s+(\d+)$/m)
    }
  }
  return {
    runNs: sum.runNs,
    delayNs: sum.delayNs,
    voluntarySwitches: sum.voluntary,
    involuntarySwitches: sum.involuntary,
    ticksNs: (sum.ticks * 1e9) / TICKS_PER_SECOND,
    threads: sum.threads,
    tasks,
  }
}

export function usageBetween(before: TreeUsage, after: TreeUsage): TreeUsage {
  return {
    runNs: after.runNs - before.runNs,
    delayNs: after.delayNs - before.delayNs,
    voluntarySwitches: after.voluntarySwitches - before.voluntarySwitches,
    involuntarySwitches: after.involuntarySwitches - before.involuntarySwitches,
    ticksNs: after.ticksNs - before.ticksNs,
    threads: after.threads,
    tasks: new Map(
      [...after.tasks].map(([task, { runNs, delayNs }]) => {
        const first = before.tasks.get(task) ?? { runNs: 0, delayNs: 0 }
        return [task, { runNs: runNs - first.runNs, delayNs: delayNs - first.delayNs }]
      }),
    ),
  }
}

/**
 * Of the task that waited most, the time that it was ready to run and that other tasks of its own tree cannot
 * have used: a tree of several processes on one CPU waits for itself, which is no disturbance.
 */
export function delayByOthersNs({ runNs, tasks }: TreeUsage, processors: number): number {
  const waits = [...tasks.values()].map((task) => task.delayNs - (runNs - task.runNs) / processors)
  return Math.max(0, ...waits)
}

export function memoryOf(pids: readonly number[]): TreeMemory {
  let [privateBytes, residentAnonymousBytes, residentPeakBytes] = [0, 0, 0]
  for (const pid of pids) {
    privateBytes += kibIn(readOr(`/proc/${pid}/smaps_rollup`), 'Pss_Anon')
    const status = readOr(`/proc/${pid}/status`)
    residentAnonymousBytes += kibIn(status, 'RssAnon')
    residentPeakBytes += kibIn(status, 'VmHWM')
  }
  return { privateBytes, residentAnonymousBytes, residentPeakBytes }
}

/** Tasks that may run elsewhere than on these CPUs (a list as taskset takes it), in words; none: all are pinned. */
export function strayTasks(pids: readonly number[], processors: string): string[] {
  const wanted = processorsIn(processors).join(',')
  return pids.flatMap((pid) =>
    tasksOf(pid).flatMap((task) => {
      const status = readOr(`/proc/${pid}/task/${task}/status`)
      const allowed = /^Cpus_allowed_list:\s*(.+)$/m.exec(status)?.[1]
      // A task that has just ended has none.
      if (allowed === undefined || processorsIn(allowed).join(',') === wanted) return []
      const name = /^Name:\s*(.+)$/m.exec(status)?.[1] ?? '?'
      return [`task ${task} (${name}) of process ${pid} may use CPUs ${allowed}, not ${processors}`]
    }),
  )
}

/** `0,2-3` → 0, 2, 3. */
export function processorsIn(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}

export function isAlive(pid: number): boolean {
  const fields = statFields(pid)
  return fields !== undefined && fields[0] !== 'Z'
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch (error) {
    if (isGone(error)) return []
    throw error
  }
}

/** From the state on: the name before it, in parentheses, may hold spaces. Undefined: there is no such process. */
function statFields(pid: number): string[] | undefined {
  const stat = readOr(`/proc/${pid}/stat`)
  return stat === '' ? undefined : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Empty where the process has ended meanwhile. */
function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isGone(error)) return ''
    throw error
  }
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ESRCH'
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0)
}

function kibIn(text: string, name: string): number {
  return numberIn(text, new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm')) * 1024
}
