/** The supervisor's own log: JSON lines, or readable ones for a terminal. Request logs are another thing. */
import { type Logger, pino } from 'pino'

export async function openLogOutput(format: 'json' | 'pretty', level: string): Promise<Logger> {
  const options = { level, base: { component: 'node' } }
  if (format === 'json') return pino(options, pino.destination({ fd: 1, sync: true }))
  // Loaded only when asked for: it takes memory that a node in production has no use for.
  const { default: pretty } = await import('pino-pretty')
  const stream = pretty({
    destination: 1,
    sync: true,
    ignore: 'pid,hostname,component',
    translateTime: 'SYS:HH:MM:ss.l',
  })
  return pino(options, stream)
}
