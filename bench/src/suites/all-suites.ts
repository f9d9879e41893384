/** The suites by name. */
import { dnz, quick } from './dnz.ts'
import { ramp } from './ramp.ts'
import { rewrk } from './rewrk.ts'
import type { Suite } from './suite.ts'
import { sweep } from './sweep.ts'

export const SUITES = { dnz, ramp, sweep, rewrk, quick } as const
export type RunnableSuite = keyof typeof SUITES

/** Two builds take turns on the scenarios of the dnz page. */
export const ab: Suite = { ...dnz, name: 'ab', proxies: ['old', 'new'] }
