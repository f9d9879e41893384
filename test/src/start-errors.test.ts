/** Programs that cannot start say why in one line and end with 1. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { CONTROL_PLANE, NODE } from './harness/programs.ts'
import type { Scope } from './harness/scope.ts'

const { it } = claims()
const TOKEN = `sluice-join.${'A'.repeat(43)}.${'A'.repeat(43)}`

async function run(
  scope: Scope,
  ...words: string[]
): Promise<{ code: number | null; output: string }> {
  const started = scope.start({ name: 'program', command: process.execPath, arguments: words })
  const { code } = await started.waitForExit(15_000)
  return { code, output: (await started.wholeOutput()).trim() }
}

/** The lines that are no log records. */
function plainLines(output: string): string[] {
  return output.split('\n').filter((line) => !line.startsWith('{'))
}

async function takenPort(scope: Scope): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  scope.defer(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

it('a control plane on a taken port, admin or fleet, names the address', async (scope) => {
  const taken = await takenPort(scope)
  for (const [index, flag] of ['--admin', '--fleet'].entries()) {
    const other = flag === '--admin' ? '--fleet' : '--admin'
    const data = join(await scope.temporaryDirectory(), String(index))
    const flags = ['--data-dir', data, flag, `127.0.0.1:${taken}`, other, '127.0.0.1:0']
    const { code, output } = await run(scope, CONTROL_PLANE, ...flags)
    expect(code, output).toBe(1)
    expect(plainLines(output)).toEqual([expect.stringContaining(`127.0.0.1:${taken}`)])
  }
})

it('a node whose status port is taken names the address', async (scope) => {
  const taken = await takenPort(scope)
  const data = await scope.temporaryDirectory()
  const flags = ['--control-plane', '127.0.0.1:1', '--join-token', TOKEN, '--data-dir', data]
  const { code, output } = await run(scope, NODE, 'run', ...flags, '--status', `127.0.0.1:${taken}`)
  expect(code, output).toBe(1)
  expect(output).toContain(String(taken))
  expect(output).not.toMatch(/\n\s+at /)
})

it('a node with neither identity nor join token says what it needs', async (scope) => {
  const data = await scope.temporaryDirectory()
  const flags = ['--control-plane', '127.0.0.1:1', '--data-dir', data, '--status', '127.0.0.1:0']
  const { code, output } = await run(scope, NODE, 'run', ...flags)
  expect(code, output).toBe(1)
  expect(output).toMatch(/join.token/)
  expect(output).not.toMatch(/\n\s+at /)
})

it('unknown flags and values that are none are named', async (scope) => {
  const cases = [
    [CONTROL_PLANE, '--colour', 'red'],
    [CONTROL_PLANE, '--admin', 'nonsense', '--data-dir', await scope.temporaryDirectory()],
    [NODE, 'run', '--control-plane', '127.0.0.1:1', '--workers', 'many'],
    [NODE, 'run', '--control-plane', '127.0.0.1:1', '--listen', 'web'],
  ]
  for (const words of cases) {
    const { code, output } = await run(scope, ...words)
    expect(code, output).toBeGreaterThan(0)
    expect(output).toMatch(/colour|nonsense|many|listen/)
    expect(output).not.toMatch(/\n\s+at /)
  }
})

it('--help of each program shows its flags', async (scope) => {
  const control = await run(scope, CONTROL_PLANE, '--help')
  expect(control).toMatchObject({ code: 0, output: expect.stringContaining('--fleet-name') })
  const node = await run(scope, NODE, 'run', '--help')
  expect(node).toMatchObject({ code: 0, output: expect.stringContaining('--drain-grace') })
})
