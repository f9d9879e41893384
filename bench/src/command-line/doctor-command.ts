/** `doctor`: whether this machine can measure, and how well. */
import { calibrateBest, measureHiccups } from '../machine/noise.ts'
import { findPeers } from '../peers/all-peers.ts'
import { outputOf } from '../programs.ts'
import { readEnvironment } from '../rounds/environment.ts'
import { defaultProcessors, preflight } from '../rounds/preflight.ts'
import { SUITES } from '../suites/all-suites.ts'
import { EXIT } from './exit-code.ts'

const HICCUPS_MS = 1_000
const CALIBRATIONS = 5
/** Of the clock's gaps above 50 µs; beyond it latencies below a millisecond mean little. */
const LOST_SHARE_MAX = 0.05

export async function doctor(): Promise<number> {
  const processors = defaultProcessors()
  const problems = await preflight(processors, SUITES.quick.scenarios({}))
  const say = (name: string, text: string) => process.stdout.write(`${name.padEnd(14)} ${text}\n`)
  if (processors !== undefined) {
    await outputOf('taskset', ['-acp', processors.load, String(process.pid)])
    const environment = await readEnvironment(processors, {})
    say('CPU', `${environment.cpuModel}, ${environment.cpus} usable`)
    say('layout', environment.layout)
    say('kernel', environment.kernel)
    say(
      'tools',
      Object.entries(environment.tools)
        .map((pair) => pair.join(' '))
        .join(', '),
    )
    say(
      'open files',
      `${environment.limits.openFiles} (hard limit ${environment.limits.openFilesHard})`,
    )
  }
  const first = calibrateBest(CALIBRATIONS)
  const second = calibrateBest(CALIBRATIONS)
  const steadiness = Math.abs(second.ms / first.ms - 1) * 100
  const hiccups = measureHiccups(HICCUPS_MS)
  say(
    'calibration',
    `${first.ms.toFixed(1)} ms at best, again ${second.ms.toFixed(1)} ms (${steadiness.toFixed(1)} %)`,
  )
  say(
    'hiccups',
    `${hiccups.gapsPerSecond.toFixed(0)}/s above 50 µs, p99 ${(hiccups.p99Us / 1_000).toFixed(2)} ms, ${(hiccups.share * 100).toFixed(1)} % of the time`,
  )
  for (const { peer, found } of await findPeers()) {
    say(
      peer.name,
      found.kind === 'found'
        ? `${found.version} (${found.origin})`
        : `not installed: ${found.reason}`,
    )
  }
  for (const problem of problems) say('PROBLEM', problem)
  const isQuiet = hiccups.share < LOST_SHARE_MAX
  const verdict =
    problems.length > 0
      ? 'cannot measure'
      : isQuiet
        ? 'can measure'
        : 'can measure, but is disturbed now'
  say('verdict', verdict)
  return problems.length > 0 ? EXIT.error : EXIT.ok
}
