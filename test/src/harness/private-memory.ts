/** How much memory a process has to itself, and how that goes while something runs. */
import { existsSync, readFileSync } from 'node:fs'

const SAMPLE_MS = 50

export function privateBytes(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const kibibytes = [...rollup.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)]
  return kibibytes.reduce((sum, [, number]) => sum + Number(number), 0) * 1_024
}

/** The most that was seen while `work` ran. */
export async function peakDuring(pid: number, work: () => Promise<void>): Promise<number> {
  let peak = privateBytes(pid)
  const sampling = setInterval(() => {
    // When the work is given up, the process may end before it does.
    if (existsSync(`/proc/${pid}`)) peak = Math.max(peak, privateBytes(pid))
  }, SAMPLE_MS)
  try {
    await work()
  } finally {
    clearInterval(sampling)
  }
  return Math.max(peak, privateBytes(pid))
}
