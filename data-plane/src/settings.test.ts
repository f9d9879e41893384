import { afterEach, expect, it, vi } from 'vitest'
import { readSettings, type Settings, SettingsError } from './settings.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

function read(...argv: string[]): Settings {
  const outcome = readSettings(['run', ...argv])
  if (outcome.kind === 'done') throw new Error('no settings')
  return outcome.settings
}

function problemsOf(...argv: string[]): readonly string[] {
  try {
    read(...argv)
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
  return []
}

it('reads every flag', () => {
  const token = ['--join-token', 'text', '--name', 'edge-1', '--data-dir', '/data']
  const numbers = ['--workers', '3', '--drain-grace', '1.5', '--status', ':7410']
  const lists = ['--label', 'zone=a', '--label', 'tier=edge', '--listen', 'web=:80']
  const names = ['--dns-server', '10.0.0.53', '--dns-server', '[::1]:5353']
  const logs = ['--log-format', 'pretty', '--log-level', 'debug']
  const argv = [
    '--control-plane',
    'cp.test:7401',
    ...token,
    ...numbers,
    ...lists,
    ...names,
    ...logs,
  ]
  expect(read(...argv)).toEqual({
    controlPlane: 'cp.test:7401',
    joinToken: 'text',
    name: 'edge-1',
    labels: { zone: 'a', tier: 'edge' },
    dataDir: '/data',
    status: ':7410',
    workers: 3,
    listen: { web: ':80' },
    dnsServers: ['10.0.0.53', '[::1]:5353'],
    drainGraceSeconds: 1.5,
    logFormat: 'pretty',
    logLevel: 'debug',
  })
})

it('reads the environment where a flag is missing', () => {
  vi.stubEnv('SLUICE_CONTROL_PLANE', 'cp.test:7401')
  vi.stubEnv('SLUICE_LABEL', 'zone=a,tier=edge')
  vi.stubEnv('SLUICE_NAME', 'from-the-environment')
  vi.stubEnv('SLUICE_WORKERS', '2')
  expect(read('--name', 'from-the-flag')).toMatchObject({
    controlPlane: 'cp.test:7401',
    labels: { zone: 'a', tier: 'edge' },
    name: 'from-the-flag',
    workers: 2,
  })
})

it('is frozen', () => {
  expect(Object.isFrozen(read('--control-plane', 'cp.test:7401', '--name', 'n'))).toBe(true)
})

it.each([
  ['no control plane', [], "required option '--control-plane <host:port>' not specified"],
  ['an unknown flag', ['--colour', 'red'], "unknown option '--colour'"],
  ['a word for a number', ['--workers', 'two'], 'It is not a number.'],
  ['a label without a value', ['--label', 'zone'], '"zone" is not NAME=VALUE.'],
  ['a DNS server by name', ['--dns-server', 'dns.test:53'], '"dns.test:53" is not an IP address'],
  ['two tokens', ['--join-token', 'a', '--join-token-file', 'b'], 'cannot be used with option'],
])('names %s', (_name, argv, text) => {
  const needed = argv.length === 0 ? [] : ['--control-plane', 'cp.test:7401']
  expect(problemsOf(...needed, ...argv).join()).toContain(text)
})

it('names all that is wrong at once', () => {
  const argv = ['--workers', '0', '--name', 'Not A Name', '--log-format', 'xml']
  const problems = problemsOf('--control-plane', ':1', '--listen', 'web=nowhere', ...argv)
  expect(problems.map((problem) => problem.split(':', 1)[0])).toEqual(
    expect.arrayContaining([
      '--control-plane',
      '--listen web',
      '--workers',
      '--name',
      '--log-format',
    ]),
  )
})

it('names a token file that cannot be read', () => {
  const argv = ['--control-plane', 'cp.test:1', '--join-token-file', '/no/such/file']
  expect(problemsOf(...argv).join()).toContain('--join-token-file: ENOENT')
})
