/** The program's log: JSON lines for machines, or text for people. */
import { destination, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'

export function makeLog(settings: {
  readonly logFormat: 'json' | 'pretty'
  readonly logLevel: string
}): Logger {
  // The last net under the rule that secrets are not logged at all.
  const redact = ['req.headers.authorization', 'headers.authorization', 'token', 'privateKeyPem']
  const options = { level: settings.logLevel, base: null, redact }
  if (settings.logFormat === 'json') return pino(options, destination({ dest: 1, sync: true }))
  return pino(
    options,
    pretty({ sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' }),
  )
}
