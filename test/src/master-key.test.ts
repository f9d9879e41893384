/** The master key is replaced while the fleet works, and a control plane killed in between is whole again. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { cliEnvironment, runCli } from './harness/cli.ts'
import { router, service, startFleet } from './harness/fleet.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'

const { it } = claims()
const ROUNDS = 6

it('is rotated under writes and kills: certificates, joining and versions go on, and the key before opens nothing', async (scope) => {
  const fleet = await startFleet(scope)
  await fleet.publish(
    service('s', [await startEchoOrigin(scope, 'echo')]),
    router('r', 'a.test', 's'),
  )
  const certificate = { kind: 'certificate', source: 'internal', hosts: ['a.test'] }
  const { controlPlane } = fleet
  const file = join(controlPlane.dataDirectory, 'master-key')
  const first = await readFile(file, 'utf8')
  for (let round = 0; round < ROUNDS; round += 1) {
    let isAnswered = false
    const rotating = controlPlane.api
      .call('POST', '/api/v1/master-key/rotate')
      .catch(() => undefined)
      .finally(() => {
        isAnswered = true
      })
    const writing = controlPlane.api
      .apply({ ...certificate, name: `c${round}` })
      .catch(() => undefined)
    // The next key is on the disk and not in its place yet, or it was quicker than we look.
    while (!existsSync(`${file}.next`) && !isAnswered) await nextTurn()
    await controlPlane.kill()
    await Promise.all([rotating, writing])
    await controlPlane.startAgain()
    expect(existsSync(`${file}.next`)).toBe(false)
  }
  await fleet.publish({ ...certificate, name: 'last' })
  await fleet.untilInSync()
  const rotated = await runCli(scope, ['master-key', 'rotate'], cliEnvironment(controlPlane))
  expect([rotated.code, rotated.output]).toEqual([0, expect.stringContaining('took the place of')])
  expect(await readFile(file, 'utf8')).not.toBe(first)
})
