/** Log lines of the parts, written for people. */

export const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']

/** What a person follows while it runs, beside warnings and errors. */
const lifeEvents = new Set([
  'joined',
  'published',
  'version applied',
  'connected to the control plane',
  'draining',
])

export function isForPeople({ level, msg }) {
  return lifeEvents.has(msg) || levels.indexOf(level) >= levels.indexOf('warn')
}

const notWorthShowing = new Set([
  'level',
  'time',
  'pid',
  'hostname',
  'msg',
  'name',
  'component',
  'nodeId',
  'hash',
])

/** `12:00:01 WARN  upstream failed service=shop`. */
export function prettyLine(entry) {
  const time = new Date(entry.time).toTimeString().slice(0, 8)
  const fields = Object.entries(entry)
    .filter(([key]) => !notWorthShowing.has(key))
    .map(([key, value]) => `${key}=${fieldText(value)}`)
  const level = String(entry.level).toUpperCase().padEnd(5)
  return [time, level, entry.msg, ...fields].filter(Boolean).join(' ')
}

/** Quoted unless it is one plain word, so that no control character reaches the terminal. */
function fieldText(value) {
  return typeof value === 'string' && /^[!-~]+$/.test(value) ? value : JSON.stringify(value)
}
