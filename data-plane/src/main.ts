#!/usr/bin/env node
/** The `sluice-node` program: flags, signals and exit codes; the supervisor does the rest. */
import { readSettings, type Settings, SettingsError } from './settings.ts'
import { StartFailure } from './supervisor/errors.ts'
import { openLogOutput } from './supervisor/log-output.ts'
import { Supervisor } from './supervisor/supervisor.ts'

const PROGRAM = 'sluice-node'

async function main(): Promise<void> {
  const outcome = readSettings(process.argv.slice(2))
  if (outcome.kind === 'settings') await run(outcome.settings)
}

async function run(settings: Settings): Promise<void> {
  const logger = await openLogOutput(settings.logFormat, settings.logLevel)
  let supervisor: Supervisor | undefined
  let isStopping = false
  const stop = async (exitCode: number) => {
    isStopping = true
    await supervisor?.stop()
    process.exit(exitCode)
  }
  const onSignal = () => {
    if (isStopping) {
      supervisor?.kill()
      process.exit(1)
    }
    stop(0).catch(fail)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('SIGUSR2', () => {
    supervisor?.replaceWorkers().catch(fail)
  })
  // One that comes during the start may be about a file that is newer than what was read.
  let isReloadDue = false
  process.on('SIGHUP', () => {
    if (supervisor === undefined) isReloadDue = true
    else supervisor.reload().catch(fail)
  })
  supervisor = await Supervisor.start({
    settings,
    logger,
    onFailure: (error) => {
      sayWhy(error)
      stop(1).catch(fail)
    },
  })
  if (isReloadDue) await supervisor.reload()
}

/** A line for each mistake of an operator's; the whole error for ours. */
function sayWhy(error: unknown): void {
  if (error instanceof SettingsError) {
    for (const problem of error.problems) process.stderr.write(`${PROGRAM}: ${problem}\n`)
  } else if (error instanceof StartFailure) {
    for (const line of error.message.split('\n')) process.stderr.write(`${PROGRAM}: ${line}\n`)
  } else {
    process.stderr.write(`${PROGRAM}: ${error instanceof Error ? error.stack : String(error)}\n`)
  }
}

function fail(error: unknown): void {
  sayWhy(error)
  process.exit(1)
}

main().catch(fail)
