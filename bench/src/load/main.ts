/**
 * The load generator's process: `main.ts [PLAN.json [RESULT.json]]`, or the plan on standard input and the
 * result on standard output. A line on standard error for the start of the measured time and for each second
 * of it. SIGINT and SIGTERM end the run; what was measured is still written.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { Generator } from './generator/generator.ts'
import { readPlan } from './plan-reader.ts'
import { MEASURING_LINE, SECOND_LINE } from './progress-lines.ts'

const [, , planFile, resultFile] = process.argv
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())

try {
  const plan = readPlan(
    await (planFile === undefined ? text(process.stdin) : readFile(planFile, 'utf8')),
  )
  const generator = new Generator(plan, {
    onMeasuring: () => process.stderr.write(`${MEASURING_LINE}\n`),
    onSecond: (seconds) => process.stderr.write(`${SECOND_LINE} ${seconds.toFixed(1)}\n`),
  })
  const result = JSON.stringify(await generator.run(interrupted.signal))
  if (resultFile === undefined) process.stdout.write(result, () => process.exit(0))
  else await writeFile(resultFile, result).then(() => process.exit(0))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`, () => process.exit(1))
}
