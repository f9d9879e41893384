/** The `sluice` command, run as an operator runs it. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ControlPlane } from './control-plane.ts'
import { CLI } from './programs.ts'
import type { Scope } from './scope.ts'

export interface CliResult {
  readonly code: number | null
  readonly output: string
}

export async function runCli(
  scope: Scope,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  const started = scope.start({
    name: `sluice ${words[0] ?? ''}`,
    command: process.execPath,
    arguments: [CLI, ...words],
    environment,
  })
  const { code } = await started.waitForExit(15_000)
  return { code, output: await started.wholeOutput() }
}

export function cliEnvironment(controlPlane: ControlPlane): Record<string, string> {
  return {
    SLUICE_SERVER: controlPlane.adminUrl,
    SLUICE_TOKEN_FILE: join(controlPlane.dataDirectory, 'admin-token'),
  }
}

export async function fileWith(scope: Scope, name: string, text: string): Promise<string> {
  const path = join(await scope.temporaryDirectory(), name)
  await writeFile(path, text)
  return path
}
