#!/usr/bin/env node
// npm links commands while it installs, when dist/ does not exist yet; this file always does.
import { existsSync } from 'node:fs'

const program = new URL('../dist/cli/main.js', import.meta.url)
if (existsSync(program)) {
  await import(program.href)
} else {
  process.stderr.write('sluice is not built yet: run npm run build\n')
  process.exitCode = 1
}
