/** The program: flags, signals, exit codes. Everything else is in control-plane.ts. Loaded by main.ts. */
import process from 'node:process'
import { ControlPlane } from './control-plane.ts'
import { StartError } from './errors.ts'
import { makeLog } from './log.ts'
import { readSettings } from './settings.ts'
import { softwareVersion } from './software-version.ts'

const settings = readSettings(process.argv.slice(2), process.env, softwareVersion)
const log = makeLog(settings)

/** After this, what does not end by itself is ended with the process. */
const stopMsMax = 2_800

try {
  const controlPlane = await ControlPlane.start({
    settings,
    softwareVersion,
    log,
    now: Date.now,
  })
  const { adminAddress, fleetAddress } = controlPlane
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void stop(controlPlane, signal))
  }
  log.info({ adminAddress, fleetAddress, dataDir: settings.dataDir }, 'ready')
} catch (error) {
  if (!(error instanceof StartError)) throw error
  process.stderr.write(`sluice-control-plane: ${error.message}\n`)
  process.exitCode = 1
}

async function stop(controlPlane: ControlPlane, signal: string): Promise<void> {
  log.info({ signal }, 'stopping')
  setTimeout(() => process.exit(0), stopMsMax).unref()
  await controlPlane.stop()
  log.info('stopped')
  process.exit(0)
}
