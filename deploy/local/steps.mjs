/** Runs a command that takes a while: quiet, but one can see that it lives, and its output when it fails. */
import { spawn } from 'node:child_process'
import { UpFailure } from './options.mjs'

const outputLinesKept = 200
const killAfterMs = 2_000

/** The user asked to stop. */
export class Interrupted extends Error {}

/**
 * @param {{ doing: string, done: string }} title
 * @param {string[]} command
 * @param {{ cwd: string, env: NodeJS.ProcessEnv, signal: AbortSignal }} options
 */
export async function runStep(title, [program, ...args], { cwd, env, signal }) {
  if (signal.aborted) throw new Interrupted()
  const progress = showProgress(title.doing)
  // A group of its own: Ctrl-C reaches this process alone, which then ends the whole group.
  const child = spawn(program, args, {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = keepLines(child)
  const kill = () => endGroup(child)
  signal.addEventListener('abort', kill)
  const end = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, killedBy) => resolve(code ?? killedBy))
  })
  signal.removeEventListener('abort', kill)
  progress.end()
  if (signal.aborted) throw new Interrupted()
  if (end !== 0) {
    process.stderr.write(`${output.join('\n')}\n`)
    throw new UpFailure(`${title.doing} failed (${end}); what it printed is above`)
  }
  process.stdout.write(`${title.done} (${progress.seconds()} s)\n`)
}

function endGroup(child) {
  signalGroup(child.pid, 'SIGTERM')
  const timer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), killAfterMs)
  child.once('close', () => {
    clearTimeout(timer)
    // What ignored the signal and let go of the pipes would outlive the step.
    signalGroup(child.pid, 'SIGKILL')
  })
}

/** Signals all processes of a group, as far as there are any left. */
export function signalGroup(pid, signal) {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

function keepLines(child) {
  const lines = []
  const keep = (chunk) => {
    lines.push(...chunk.replace(/\n$/, '').split('\n'))
    lines.splice(0, lines.length - outputLinesKept)
  }
  child.stdout.setEncoding('utf8').on('data', keep)
  child.stderr.setEncoding('utf8').on('data', keep)
  return lines
}

/** One line that counts the seconds on a terminal; elsewhere a line now and then. */
function showProgress(doing) {
  const startedAt = Date.now()
  const seconds = () => Math.round((Date.now() - startedAt) / 1000)
  const { isTTY } = process.stdout
  if (!isTTY) process.stdout.write(`${doing} ...\n`)
  const draw = () =>
    process.stdout.write(isTTY ? `\r${doing} ... ${seconds()} s ` : `${doing} ... ${seconds()} s\n`)
  if (isTTY) draw()
  const timer = setInterval(draw, isTTY ? 1_000 : 10_000)
  return {
    seconds,
    end() {
      clearInterval(timer)
      if (isTTY) process.stdout.write('\r\x1b[K')
    },
  }
}
