/** Runs the steady generator in a process of its own. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { SteadyPlan, SteadyReport } from './steady-plan.ts'

const run = promisify(execFile)
const GENERATOR = fileURLToPath(new URL('./steady-generator.ts', import.meta.url))

/** It spins between requests, so it runs only when nothing else wants its CPU: the origin goes first. */
export async function applySteadyLoad(cpus: string, plan: SteadyPlan): Promise<SteadyReport> {
  const generator = ['chrt', '--idle', '0', process.execPath, GENERATOR, JSON.stringify(plan)]
  const { stdout } = await run('taskset', ['-c', cpus, ...generator])
  return JSON.parse(stdout) as SteadyReport
}
