/** A node that was off for longer than its certificate is good for: it serves, says what is wrong, and can come back as itself. */
import { describe, expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { cliEnvironment, runCli } from './harness/cli.ts'
import { ControlPlane } from './harness/control-plane.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, Fleet, joinNode, router, service } from './harness/fleet.ts'
import { statusOf } from './harness/http-text.ts'
import { canMoveClock, MovableClock, whyNoClock } from './harness/movable-clock.ts'
import { ScriptedOrigin } from './harness/origins/scripted-origin.ts'
import { exchange, get } from './harness/raw-client.ts'

const { it } = claims()
const SEEN = { withinMs: 20_000 }
const AWAY_SECONDS = 31 * 86_400

describe.skipIf(!canMoveClock)(
  `a certificate that expired while its node was off${whyNoClock}`,
  () => {
    it('leaves the node serving its stored version, is told at both ends, and a new token brings the node back under its name and labels', async (scope) => {
      const origin = await ScriptedOrigin.start(scope)
      const clock = await MovableClock.create(scope)
      const { environment } = clock
      const controlPlane = await ControlPlane.start(scope, undefined, environment)
      await controlPlane.api.apply(entryPoint('web'))
      const joinToken = await controlPlane.createJoinToken({ labels: { site: 'berlin' } })
      const node = await joinNode(scope, controlPlane, { name: 'n1', joinToken, environment })
      const fleet = new Fleet(controlPlane, [await node.untilReady()])
      const fields = { nodes: { site: 'berlin' } }
      const version = await fleet.publish(
        service('s', [origin.port]),
        router('r', 'r.test', 's', fields),
      )
      const before = await fleet.nodeView()
      await node.stop()
      await clock.move(AWAY_SECONDS)
      // Nodes trust a certificate of the control plane's that is as new as its start.
      await controlPlane.stop()
      await controlPlane.startAgain()

      node.startAgain()
      await node.untilReady()
      await eventually(
        async () => /certificate expired on/.test(String((await node.status()).problems)),
        SEEN,
      )
      expect(await node.status()).toMatchObject({ version, source: 'disk' })
      expect(statusOf(await exchange(scope, node.port(), get('r.test', '/')))).toBe(200)
      expect(node.process.output).toContain('start it with a new join token or bundle')
      // The one from then is still in its command line.
      await node.process.waitForOutput(
        /join token (is used up|expired).*could not join again/,
        10_000,
      )
      expect(await fleet.nodeView()).toMatchObject({ state: 'lost', isCertificateExpired: true })
      const listed = await runCli(scope, ['nodes'], cliEnvironment(controlPlane))
      expect(listed.output).toContain('n1 was away until its certificate expired')

      const newer = (await fleet.api.apply(router('late', 'late.test', 's', fields))).version
      await node.stop()
      node.startAgain(await controlPlane.createJoinToken())
      await fleet.untilInSync(newer, SEEN.withinMs)
      expect(await fleet.nodeViews()).toMatchObject([
        { id: before.id, name: 'n1', labels: { site: 'berlin' }, isCertificateExpired: false },
      ])
      expect(statusOf(await exchange(scope, node.port(), get('late.test', '/')))).toBe(200)
      await node.stop()
      node.startAgain()
      await node.untilReady()
      await fleet.untilInSync(newer, SEEN.withinMs)
    })
  },
)
