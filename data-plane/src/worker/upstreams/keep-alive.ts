/** How long a connection to a server is kept without use. */
import { limits } from '../../limits.ts'

/**
 * Milliseconds, by the value of the server's Keep-Alive field (its parameter `timeout` is in seconds): a
 * margin below it, so that a request is not sent into a connection that the server is about to close.
 */
export function keptForMs(keepAliveField: string): number {
  for (const parameter of keepAliveField.split(',')) {
    const [name, seconds] = parameter.split('=')
    if (name?.trim().toLowerCase() !== 'timeout' || seconds === undefined) continue
    const announcedMs = Number.parseInt(seconds, 10) * 1_000 - limits.upstreamIdleMarginMs
    if (Number.isNaN(announcedMs)) break
    return Math.max(0, Math.min(announcedMs, limits.upstreamIdleTimeoutMs))
  }
  return limits.upstreamIdleTimeoutMs
}
