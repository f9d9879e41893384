/** The program: flags, signals, exit codes. Everything else is in control-plane.ts. Loaded by main.ts. */
import process from 'node:process'
import type { Logger } from 'pino'
import { commandFor } from './commands.ts'
import { ControlPlane } from './control-plane.ts'
import { StartError } from './errors.ts'
import { makeLog } from './log.ts'
import { readSettings } from './settings.ts'
import { softwareVersion } from './software-version.ts'

const argv = process.argv.slice(2)

/** After this, what does not end by itself is ended with the process. */
const stopMsMax = 2_800

try {
  const command = commandFor(argv, softwareVersion)
  await (command === undefined ? serve() : command.parseAsync(argv, { from: 'user' }))
} catch (error) {
  if (!(error instanceof StartError)) throw error
  process.stderr.write(`sluice-control-plane: ${error.message}\n`)
  process.exitCode = 1
}

async function serve(): Promise<void> {
  const settings = readSettings(argv, process.env, softwareVersion)
  const log = makeLog(settings)
  const controlPlane = await ControlPlane.start({
    settings,
    softwareVersion,
    log,
    now: Date.now,
  })
  const { adminAddress, fleetAddress } = controlPlane
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void stop(controlPlane, log, signal))
  }
  log.info({ adminAddress, fleetAddress, dataDir: settings.dataDir }, 'ready')
}

async function stop(controlPlane: ControlPlane, log: Logger, signal: string): Promise<void> {
  log.info({ signal }, 'stopping')
  setTimeout(() => process.exit(0), stopMsMax).unref()
  await controlPlane.stop()
  log.info('stopped')
  process.exit(0)
}
