/** The thread of the `wait` pace: sleeps, wakes the generator's loop, and sleeps again. */
import { workerData } from 'node:worker_threads'

const SLEEP_MS = 0.2

const wakeUps = workerData as Int32Array<SharedArrayBuffer>
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
for (;;) {
  Atomics.wait(never, 0, 0, SLEEP_MS)
  Atomics.add(wakeUps, 0, 1)
  Atomics.notify(wakeUps, 0)
}
