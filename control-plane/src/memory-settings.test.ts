import { expect, it } from 'vitest'
import { withMemorySettings } from './memory-settings.ts'

const invocation = {
  execPath: '/bin/node',
  execArgv: ['--enable-source-maps'],
  argv: ['/bin/node', '/sluice/main.js', '--data-dir', '/data'],
  env: { HOME: '/root' },
}

it('adds the settings in front of what was given, and changes nothing else', () => {
  const again = withMemorySettings(invocation)
  expect(again?.argv[0]).toBe('/bin/node')
  expect(again?.argv.slice(-4)).toEqual([
    '--enable-source-maps',
    ...['/sluice/main.js', '--data-dir', '/data'],
  ])
  expect(again?.argv.slice(1, -4)).toContain('--max-semi-space-size=4')
  expect(again?.env).toMatchObject({ HOME: '/root', MALLOC_ARENA_MAX: '1' })
})

it('does it once', () => {
  const again = withMemorySettings(invocation)
  expect(withMemorySettings({ ...invocation, env: again?.env ?? {} })).toBeUndefined()
})

it("keeps operators' own variables", () => {
  const env = { MALLOC_ARENA_MAX: '8' }
  expect(withMemorySettings({ ...invocation, env })?.env.MALLOC_ARENA_MAX).toBe('8')
})
