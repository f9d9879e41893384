import { afterEach, expect, it, vi } from 'vitest'
import { adjustableLimits, defaultLimits, type LimitName } from './limits.ts'
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
  const limits = ['--limit', 'head-timeout-ms=5000', '--limit', 'attempts-max=2']
  const names = ['--dns-server', '10.0.0.53', '--dns-server', '[::1]:5353']
  const logs = ['--log-format', 'pretty', '--log-level', 'debug']
  const argv = [
    '--control-plane',
    'cp.test:7401',
    ...token,
    ...numbers,
    ...lists,
    ...limits,
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
    limits: { headTimeoutMs: 5_000, attemptsMax: 2 },
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

it('reads a bundle and where its passphrase is', () => {
  const bundle = ['--bundle', 'edge-1.bundle', '--bundle-passphrase-file', 'secret']
  expect(read('--control-plane', 'cp.test:7401', ...bundle)).toMatchObject({
    bundle: 'edge-1.bundle',
    bundlePassphraseFile: 'secret',
  })
})

it('is frozen', () => {
  expect(Object.isFrozen(read('--control-plane', 'cp.test:7401', '--name', 'n'))).toBe(true)
})

it.each([
  ['no source of versions', [], 'configuration comes from: --control-plane or --config'],
  [
    'a bundle without a fleet',
    ['--config', 'a.yaml', '--bundle', 'b'],
    '--config cannot be used with a join token or a bundle',
  ],
  [
    'two ways to join',
    ['--control-plane', 'cp.test:7401', '--bundle', 'b', '--join-token', 't'],
    "option '--bundle <file>' cannot be used with option '--join-token <token>'",
  ],
  ['two sources', ['--config', 'a.yaml'], '--config cannot be used with --control-plane'],
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

it('takes a file in the place of a control plane', () => {
  const settings = read('--config', 'node.yaml')
  expect(settings).toMatchObject({ config: 'node.yaml' })
  expect(settings).not.toHaveProperty('controlPlane')
  vi.stubEnv('SLUICE_CONFIG', 'other.yaml')
  expect(read()).toMatchObject({ config: 'other.yaml' })
})

it('has no use for a join token beside a file', () => {
  expect(problemsOf('--config', 'a.yaml', '--join-token', 'x').join()).toContain('a join token')
})

it('reads limits from the environment where a flag does not say another value', () => {
  vi.stubEnv('SLUICE_LIMIT_HEAD_BYTES_MAX', '16384')
  vi.stubEnv('SLUICE_LIMIT_FIELDS_MAX', '50')
  expect(read('--config', 'a.yaml', '--limit', 'fields-max=60').limits).toEqual({
    headBytesMax: 16_384,
    fieldsMax: 60,
  })
})

it.each([
  ['an unknown limit', 'head-size=1', '--limit head-size: there is no limit of that name'],
  ['a limit that is not for operators', 'read-bytes-max=1', 'there is no limit of that name'],
  ['a word', 'fields-max=many', '--limit fields-max: "many" is not a whole number from 8 to 1000'],
  ['a fraction', 'fields-max=9.5', '"9.5" is not a whole number'],
  ['a sign', 'fields-max=-9', '"-9" is not a whole number'],
  ['nothing', 'fields-max=', '"" is not a whole number'],
  ['too little', 'head-bytes-max=127', 'is not a whole number from 128 to 65536 bytes'],
  ['too much', 'head-timeout-ms=86400001', 'is not a whole number from 1 to 86400000 ms'],
  [
    'a relation to a default',
    'request-line-bytes-max=40000',
    'request-line-bytes-max=40000 must be below head-bytes-max=32768: a request line is part of',
  ],
  [
    'a relation to a number',
    'upstream-idle-timeout-ms=60000',
    'upstream-idle-timeout-ms=60000 must be below 60000: kept server connections end',
  ],
])('names what is wrong with %s as a limit', (_name, limit, text) => {
  const problems = problemsOf('--config', 'a.yaml', '--limit', limit)
  expect(problems).toHaveLength(1)
  expect(problems[0]).toContain(text)
})

it('names an unknown limit of the environment by its variable', () => {
  vi.stubEnv('SLUICE_LIMIT_HEAD_SIZE', '1')
  expect(problemsOf('--config', 'a.yaml')).toEqual([
    'SLUICE_LIMIT_HEAD_SIZE: there is no limit of that name; --help lists them',
  ])
})

it('lists every limit with its default and its unit in the help', () => {
  const written: string[] = []
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written.push(String(text))
    return true
  })
  readSettings(['run', '--help'])
  write.mockRestore()
  const help = written.join('')
  for (const name of Object.keys(adjustableLimits) as LimitName[]) {
    const flagName = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    expect(help).toMatch(new RegExp(`^  ${flagName} +${defaultLimits[name]}( ms| bytes)? `, 'm'))
  }
})
