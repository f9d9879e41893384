/**
 * `npm run up`: Sluice whole on this machine, from a fresh clone to traffic, until Ctrl-C. It runs before
 * anything is installed, so: plain JavaScript, Node 20, no dependencies.
 */
import { mkdirSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { argv, cwd, env, exit } from 'node:process'
import { LocalSluice } from './local-sluice.mjs'
import { help, plan, readOptions, UpFailure } from './options.mjs'
import { Parts } from './parts.mjs'
import { requireFree } from './ports.mjs'
import { prepare } from './prepare.mjs'
import { Interrupted } from './steps.mjs'
import { summary } from './summary.mjs'

/** npm passes on the signal that the terminal sent to this process as well: one Ctrl-C, two signals. */
const sameSignalMs = 500

/** Answers the exit code. */
async function main() {
  const stop = stopOnSignals()
  let parts
  try {
    const options = readOptions(argv.slice(2), env)
    if (options.isHelp) {
      process.stdout.write(help)
      return 0
    }
    const places = plan(options)
    const all = [places.admin, places.fleet, places.origin, ...places.nodes.flatMap(placesOfNode)]
    await requireFree(all)
    await prepare(stop.signal)
    await requireFree(all)
    const dataDir = resolve(options.dataDir)
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    parts = makeParts({ dataDir, options, stop })
    const facts = await Promise.race([
      new LocalSluice({ parts, places, dataDir }).start(),
      parts.untilBroken(),
    ])
    process.stdout.write(summary({ places, facts, dataDir: shownPath(dataDir) }))
    await parts.untilBroken()
  } catch (error) {
    // Said before the parts are stopped, since that can take seconds.
    return report(error)
  } finally {
    await parts?.stop()
  }
}

function makeParts({ dataDir, options: { isVerbose }, stop }) {
  const parts = new Parts({ logsDir: resolve(dataDir, 'logs'), isVerbose, signal: stop.signal })
  stop.onSecond(() => parts.kill())
  // Whatever ends this process, nothing that it started outlives it.
  process.once('exit', () => parts.kill())
  return parts
}

function placesOfNode({ web, websecure, status }) {
  return [web, websecure, status]
}

function stopOnSignals() {
  const stop = new AbortController()
  let firstAt
  let onSecond = () => {}
  const take = () => {
    firstAt ??= Date.now()
    if (stop.signal.aborted && Date.now() - firstAt > sameSignalMs) onSecond()
    stop.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, take)
  // The reader of what is printed has gone: nobody is left to run this for.
  process.stdout.on('error', take)
  process.stderr.on('error', take)
  return {
    signal: stop.signal,
    onSecond(listener) {
      onSecond = listener
    },
  }
}

function report(error) {
  if (error instanceof Interrupted) {
    process.stdout.write('\nStopping ...\n')
    return 0
  }
  // What the system refuses (a folder that cannot be written ...) is told well by its message.
  const isExpected = error instanceof UpFailure || error.syscall !== undefined
  process.stderr.write(`${isExpected ? error.message : error.stack}\n`)
  return 1
}

/** Relative while that is short enough to type. */
function shownPath(path) {
  const shown = relative(cwd(), path) || '.'
  return shown.startsWith('..') ? path : shown
}

exit(await main())
