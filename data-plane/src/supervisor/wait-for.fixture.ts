/** Waits on a condition, looked at often, for a bounded time. */
import { setTimeout as pause } from 'node:timers/promises'

export async function waitFor(
  holds: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`)
    await pause(10)
  }
}
