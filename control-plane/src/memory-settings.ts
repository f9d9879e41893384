/**
 * How the program asks V8 and malloc to be sparing. Both read this only when a process starts, so main.ts
 * replaces its process by one that has it; operators' own flags and variables win.
 */
export interface Invocation {
  readonly execPath: string
  readonly execArgv: readonly string[]
  /** With the program of Node and the script in front. */
  readonly argv: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

export interface NextInvocation {
  readonly argv: string[]
  readonly env: NodeJS.ProcessEnv
}

const v8Flags = [
  // Young objects get 12 MiB rather than 96: what telemetry leaves behind is collected more often, and in less time.
  '--max-semi-space-size=4',
  // Old ones are collected when there are a third more of them; V8 would let them become several times as many.
  '--heap-growing-percent=30',
  // Before there is this much, nothing is worth collecting.
  '--initial-heap-size=96',
]

const mallocVariables = {
  /** Threads share one heap, so that what one has freed another one can use. */
  MALLOC_ARENA_MAX: '1',
  /** Large buffers go back to the system when they are freed. Without it, the bound rises with the first one. */
  MALLOC_MMAP_THRESHOLD_: '65536',
}

/** The invocation that has the settings; undefined: this one has them. */
export function withMemorySettings({
  execPath,
  execArgv,
  argv,
  env,
}: Invocation): NextInvocation | undefined {
  const missing = Object.entries(mallocVariables).filter(([name]) => env[name] === undefined)
  if (missing.length === 0) return undefined
  return {
    argv: [execPath, ...v8Flags, ...execArgv, ...argv.slice(1)],
    env: { ...env, ...Object.fromEntries(missing) },
  }
}
