/**
 * What turns the generator while no answer does. tick: a timer of one millisecond, which costs least and comes
 * about half a millisecond late. wait: a thread that sleeps a fraction of that and wakes the loop. spin: the
 * loop never sleeps, which needs a CPU of its own or the scheduler's idle policy.
 */
import { Worker } from 'node:worker_threads'
import type { LoadPlan } from '../load-plan.ts'

const TICK_MS = 1

export interface Pacer {
  stop(): void
}

export function startPacer(pace: LoadPlan['pace'], turn: () => void): Pacer {
  switch (pace) {
    case 'tick':
      return tick(turn)
    case 'wait':
      return wait(turn)
    case 'spin':
      return spin(turn)
  }
}

function tick(turn: () => void): Pacer {
  const timer = setInterval(turn, TICK_MS)
  return { stop: () => clearInterval(timer) }
}

function spin(turn: () => void): Pacer {
  let isStopped = false
  const again = (): void => {
    if (isStopped) return
    turn()
    setImmediate(again)
  }
  setImmediate(again)
  return {
    stop: () => {
      isStopped = true
    },
  }
}

/** A turn that came late does not make the next ones queue. A thread that fails ends the process. */
function wait(turn: () => void): Pacer {
  const wakeUps = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const alarm = new Worker(new URL('./alarm.ts', import.meta.url), { workerData: wakeUps })
  let isStopped = false
  const next = async (): Promise<void> => {
    while (!isStopped) {
      await Atomics.waitAsync(wakeUps, 0, Atomics.load(wakeUps, 0)).value
      if (!isStopped) turn()
    }
  }
  void next()
  return {
    stop: () => {
      isStopped = true
      Atomics.notify(wakeUps, 0)
      void alarm.terminate()
    },
  }
}
