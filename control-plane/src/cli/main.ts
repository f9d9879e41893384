#!/usr/bin/env node
/** The `sluice` command: argv, streams and the exit code; nothing else. */
import { runCommandLine } from './program.ts'

// A reader like `head` that has seen enough closes the pipe; that is no fault of anybody.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})

process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  write: (text) => process.stdout.write(`${text}\n`),
  writeError: (text) => process.stderr.write(`${text}\n`),
})
