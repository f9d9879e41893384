/** Writes openapi.json from the route schemas, as a control plane answers it: npm run -w @sluice/control-plane openapi. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { ControlPlane } from './control-plane.ts'
import { makeLog } from './log.ts'
import { readSettings } from './settings.ts'
import { softwareVersion } from './software-version.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'sluice-openapi-'))
const flags = ['--data-dir', dataDir, '--admin', '127.0.0.1:0', '--fleet', '127.0.0.1:0']
const settings = readSettings([...flags, '--log-level', 'warn'], {}, softwareVersion)
const log = makeLog(settings)
const controlPlane = await ControlPlane.start({ settings, softwareVersion, log, now: Date.now })
try {
  const { body } = await request(`http://${controlPlane.adminAddress}/api/openapi.json`)
  const file = new URL('../openapi.json', import.meta.url)
  await writeFile(file, `${JSON.stringify(await body.json(), null, 2)}\n`)
} finally {
  await controlPlane.stop()
  await rm(dataDir, { recursive: true })
}
