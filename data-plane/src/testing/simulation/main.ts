/** `npm run -w data-plane simulate -- --seeds N --from SEED`: runs seeds until one breaks an invariant. */
import { parseArgs } from 'node:util'
import { replayCommand } from './replay.ts'
import { Simulation } from './simulation.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
})
const trace = values.trace ? (line: string) => void process.stdout.write(`${line}\n`) : undefined
const from = Number(values.from)
const to = from + Number(values.seeds)
let calm = 0
let exchanges = 0
let answered = 0
let failed = 0
const startedAt = performance.now()
for (let seed = from; seed < to; seed += 1) {
  try {
    const summary = new Simulation(seed, trace).run()
    calm += summary.isCalm ? 1 : 0
    exchanges += summary.exchanges
    answered += summary.answered
  } catch (error) {
    failed += 1
    process.exitCode = 1
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stdout.write(`seed ${seed}: ${text}\n  ${replayCommand(seed)}\n`)
    if (!values['keep-going']) break
  }
}
const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
process.stdout.write(
  `${calm} calm seeds, ${exchanges} exchanges, ${answered} answered, ${failed} failed, ${seconds} s\n`,
)
