/**
 * The check after a hostile exchange: twenty requests of a second client through the same connections to
 * the origin, each of which must get its own answer; and nothing smuggled may have arrived.
 */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { echoTarget, type ScriptedOrigin } from './origins/scripted-origin.ts'
import { get, RawClient } from './raw-client.ts'
import type { Scope } from './scope.ts'

const CANARIES = 20

export async function expectNoDesync(
  scope: Scope,
  port: number,
  host: string,
  origin: ScriptedOrigin,
): Promise<void> {
  origin.answer = echoTarget
  const client = await RawClient.open(scope, port)
  for (let index = 0; index < CANARIES; index += 1) {
    const path = `/canary-${randomUUID()}`
    const answer = await client.send(get(host, path)).answer()
    expect(answer.body.toString()).toBe(path)
  }
  client.close()
  expect(
    origin.requests.map((one) => one.target).filter((one) => one.includes('smuggled')),
  ).toEqual([])
}
