/**
 * Installs and builds what is missing or older than the sources. `npm run up` calls it, `npm test` runs it
 * by itself. It runs before anything is installed, so: plain JavaScript, Node 20, no dependencies.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { argv, exit } from 'node:process'
import { fileURLToPath } from 'node:url'
import { UpFailure } from './options.mjs'
import { Interrupted, runStep } from './steps.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const commands = join(root, 'node_modules', '.bin')
const programs = [
  'control-plane/dist/main.js',
  'control-plane/dist/cli/main.js',
  'control-plane/dist/dashboard/index.html',
  'data-plane/dist/main.js',
]

/** @param {AbortSignal} signal */
export async function prepare(signal) {
  if (!isInstalled()) {
    // Flags, since a user's own npm settings must not leave out the build tools or the Node they run on.
    const install = [
      'npm',
      'ci',
      '--include=dev',
      '--ignore-scripts=false',
      '--no-audit',
      '--no-fund',
    ]
    const title = { doing: 'Installing packages', done: 'Installed packages' }
    await runStep(title, install, { cwd: root, env: environmentWithoutOurNode(), signal })
    if (!isInstalled()) {
      throw new UpFailure('npm ci left packages out; remove node_modules and try again')
    }
  }
  // turbo knows by content what is current, and needs a tenth of a second for that.
  const build = [
    join(commands, 'turbo'),
    'run',
    'build',
    '--ui=stream',
    '--output-logs=errors-only',
  ]
  await runStep({ doing: 'Building', done: 'Built' }, build, {
    cwd: root,
    env: buildEnvironment(),
    signal,
  })
  const missing = programs.filter((program) => !existsSync(join(root, program)))
  if (missing.length > 0) throw new UpFailure(`the build did not make ${missing.join(', ')}`)
}

/** Whether node_modules holds what the lock file says, by npm's own record of what it installed. */
function isInstalled() {
  const wanted = readPackages('package-lock.json')
  const installed = readPackages('node_modules/.package-lock.json')
  if (installed === undefined || !existsSync(join(commands, 'node'))) return false
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    const found = installed[path]
    // The root has no entry of its own there; optional packages are for other machines.
    if (found === undefined) return path === '' || optional === true
    return found.version === version && found.integrity === integrity
  })
}

function readPackages(path) {
  const file = join(root, path)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : undefined
}

/** npm must not run on the Node that it is about to replace. */
function environmentWithoutOurNode() {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== commands)
  return { ...process.env, PATH: path.join(delimiter) }
}

function buildEnvironment() {
  return {
    ...process.env,
    PATH: [commands, process.env.PATH ?? ''].join(delimiter),
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
  }
}

async function main() {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop.abort())
  try {
    await prepare(stop.signal)
  } catch (error) {
    if (error instanceof Interrupted) exit(130)
    if (!(error instanceof UpFailure)) throw error
    process.stderr.write(`${error.message}\n`)
    exit(1)
  }
}

if (realpathSync(argv[1]) === realpathSync(fileURLToPath(import.meta.url))) await main()
