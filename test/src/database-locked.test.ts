/** A database that another program holds: writes fail whole and say so, nodes serve on, and all goes on afterwards. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { router, service, startFleet } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { exchange, get } from './harness/raw-client.ts'

const { it } = claims()

it('a write while the database is locked fails and leaves nothing behind, requests are served meanwhile, and the next write works', async (scope) => {
  const origin = await ScriptedOrigin.start(scope)
  const fleet = await startFleet(scope, {
    resources: [service('s', [origin.port]), router('r', 'r.test', 's')],
  })
  const before = await fleet.status()
  const holder = new DatabaseSync(join(fleet.controlPlane.dataDirectory, 'sluice.db'))
  scope.defer(() => holder.close())
  holder.exec('begin immediate')
  const write = fleet.api.call('POST', '/api/v1/apply', {
    body: { resources: [router('locked', 'locked.test', 's')] },
  })
  expect(statusOf(await exchange(scope, fleet.node.port(), get('r.test', '/')))).toBe(200)
  const refused = await write
  expect(refused.status).toBe(503)
  expect(refused.body).toMatchObject({ type: 'urn:sluice:problem:database-busy' })
  holder.exec('rollback')

  expect(await fleet.status()).toMatchObject({ version: before.version, hash: before.hash })
  expect((await fleet.api.call('GET', '/api/v1/routers/locked')).status).toBe(404)
  const version = await fleet.publish(router('later', 'later.test', 's'))
  expect(version).toBe(before.version + 1)
  expect(statusOf(await exchange(scope, fleet.node.port(), get('later.test', '/')))).toBe(200)
})
