#!/usr/bin/env node
/** The program's first step: the same process once more with its memory settings, then serve.ts. */
import process from 'node:process'
import { withMemorySettings } from './memory-settings.ts'

const { execPath, execArgv, argv, env } = process
const again = withMemorySettings({ execPath, execArgv, argv, env })
// Where a process cannot be replaced, it goes on as it is.
if (again !== undefined) process.execve?.(execPath, again.argv, again.env)
await import('./serve.ts')
