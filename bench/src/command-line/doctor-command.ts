/** `doctor`: whether this machine can measure, and how well. */
import { examineMachine } from '../machine/examination.ts'
import { defaultProcessors, preflight } from '../rounds/preflight.ts'
import { SUITES } from '../suites/all-suites.ts'
import { EXIT } from './exit-code.ts'

export async function doctor(): Promise<number> {
  const lines: string[] = []
  const say = (name: string, text: string) => lines.push(`${name.padEnd(12)} ${text}`)
  const { peers, layout, noise, timeWait, problems } = await examineMachine()
  const lacking = await preflight(defaultProcessors(), SUITES.dnz.scenarios({}))
  const { hiccups, calibration } = noise
  say(
    'layout',
    layout === undefined
      ? 'too few CPUs'
      : `proxy on CPU ${layout.proxy}, origin and load on ${layout.load}`,
  )
  say('calibration', `${calibration.ms.toFixed(1)} ms at best`)
  say(
    'hiccups',
    `${hiccups.gapsPerSecond.toFixed(0)}/s above 50 µs, p99 ${(hiccups.p99Us / 1_000).toFixed(2)} ms, ${(hiccups.share * 100).toFixed(1)} % of the time`,
  )
  say(
    'others',
    `${(noise.foreignShare * 100).toFixed(1)} % of the CPUs, the host took ${(noise.stealShare * 100).toFixed(1)} %`,
  )
  say('TIME_WAIT', `${timeWait} sockets`)
  for (const { peer, found } of peers) {
    say(
      peer.name,
      found.kind === 'found'
        ? `${found.version} (${found.origin})`
        : `not installed: ${found.reason}`,
    )
  }
  const fatal = new Set([
    ...lacking,
    ...problems.filter(({ isFatal }) => isFatal).map(({ text }) => text),
  ])
  for (const text of fatal) say('PROBLEM', text)
  for (const { isFatal, text } of problems) {
    if (!isFatal) say('doubt', text)
  }
  const isDoubted = problems.some(({ isFatal }) => !isFatal)
  const verdict =
    fatal.size > 0 ? 'cannot measure' : isDoubted ? 'can measure; see the doubts' : 'can measure'
  say('verdict', verdict)
  process.stdout.write(`${lines.join('\n')}\n`)
  return fatal.size > 0 ? EXIT.error : EXIT.ok
}
