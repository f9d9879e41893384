/** A wait that ends early when it is stopped. */
export function sleep(delayMs: number, stopped: AbortSignal): Promise<void> {
  if (stopped.aborted) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = () => {
    clearTimeout(timer)
    stopped.removeEventListener('abort', wake)
    resolve()
  }
  const timer = setTimeout(wake, delayMs)
  stopped.addEventListener('abort', wake)
  return promise
}
