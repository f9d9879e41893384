/** rpxy is a row of the tables that stays empty: the registries that a machine may use here do not have it. */
import { join } from 'node:path'
import type { Peer } from './peer.ts'
import { CONFIGURATIONS } from './places.ts'

const REASON = 'crates.io has no package rpxy or rpxy-lib'

export const rpxy: Peer = {
  name: 'rpxy',
  title: 'rpxy',
  configurationFile: join(CONFIGURATIONS, 'rpxy', 'README.md'),
  otherFiles: [],
  find: async () => ({ kind: 'missing', reason: REASON }),
  start: () => Promise.reject(new Error(`rpxy is not installed: ${REASON}`)),
}
