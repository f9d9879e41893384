/** `npm run -w data-plane fuzz -- --seconds 600 --seed N`: without a seed, one of the clock's. */
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, seed: { type: 'string' } },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
process.stdout.write(`seed ${seed}\n`)
const inputs = fuzz(seed, Number(values.seconds) * 1_000)
process.stdout.write(`${inputs} inputs, no fault\n`)
