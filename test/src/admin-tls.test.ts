/** The admin API over TLS, and its refusal to be without it on a network. */
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { type CliResult, runCli } from './harness/cli.ts'
import { eventually } from './harness/eventually.ts'
import { freePort } from './harness/ports.ts'
import { CONTROL_PLANE } from './harness/programs.ts'
import type { Scope } from './harness/scope.ts'
import type { SystemProcess } from './harness/system-process.ts'
import { TestCa } from './harness/test-ca.ts'

const { it } = claims()

interface Started {
  readonly process: SystemProcess
  readonly directory: string
  readonly port: number
}

async function start(scope: Scope, flags: readonly string[], host = '127.0.0.1'): Promise<Started> {
  const directory = await scope.temporaryDirectory()
  const port = await freePort()
  const addresses = ['--admin', `${host}:${port}`, '--fleet', `127.0.0.1:${await freePort()}`]
  const process_ = scope.start({
    name: 'control plane',
    command: process.execPath,
    arguments: [CONTROL_PLANE, '--data-dir', directory, ...addresses, ...flags],
  })
  return { process: process_, directory, port }
}

function status(
  scope: Scope,
  { directory, port }: Started,
  environment: Readonly<Record<string, string>>,
  scheme = 'https',
): Promise<CliResult> {
  const tokenFile = join(directory, 'admin-token')
  const server = `${scheme}://localhost:${port}`
  return runCli(scope, ['--server', server, '--token-file', tokenFile, 'status'], environment)
}

it('a control plane that would listen beyond this machine without TLS says what to do, and listens when told so', async (scope) => {
  const refused = await start(scope, [], '0.0.0.0')
  expect((await refused.process.waitForExit(15_000)).code).toBe(1)
  const output = await refused.process.wholeOutput()
  expect(output).toContain('the admin API would listen on 0.0.0.0 without TLS')
  for (const flag of ['--admin-tls-cert', '--admin-tls internal', '--admin-insecure']) {
    expect(output).toContain(flag)
  }
  const insecure = await start(scope, ['--admin-insecure'], '0.0.0.0')
  await insecure.process.waitForReady()
  expect((await status(scope, insecure, {}, 'http')).code).toBe(0)
})

it('with a certificate of the internal CA the command line verifies it by ca.pem, and says so where it cannot', async (scope) => {
  const started = await start(scope, ['--admin-tls', 'internal'], '0.0.0.0')
  await started.process.waitForReady()
  const trusted = await status(scope, started, { SLUICE_CA: join(started.directory, 'ca.pem') })
  expect([trusted.code, trusted.output]).toEqual([0, expect.stringContaining('version')])
  const stranger = await status(scope, started, {})
  expect(stranger.code).not.toBe(0)
  expect(stranger.output).toContain(
    'its certificate is not trusted; name the one to trust with --ca',
  )
  const signIn = await fetch(`http://127.0.0.1:${started.port}/healthz`).catch(String)
  expect(signIn).toContain('fetch failed')
})

it('a certificate from files is replaced while it runs, and a pair that does not fit is refused at the start', async (scope) => {
  const [ca, other] = [await TestCa.create(), await TestCa.create('Other CA')]
  const folder = await scope.temporaryDirectory()
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  const write = async (from: TestCa, name: string) => {
    const { chainPem, privateKeyPem } = await from.issue({ hosts: ['localhost'] })
    await writeFile(join(folder, `${name}.crt`), chainPem)
    await writeFile(join(folder, `${name}.key`), privateKeyPem)
  }
  await write(ca, 'tls')
  await write(other, 'next')
  const mixed = ['--admin-tls-cert', cert, '--admin-tls-key', join(folder, 'next.key')]
  const refused = await start(scope, mixed)
  expect((await refused.process.waitForExit(15_000)).code).toBe(1)
  expect(await refused.process.wholeOutput()).toContain('are no certificate and its key')

  const started = await start(scope, ['--admin-tls-cert', cert, '--admin-tls-key', key])
  await started.process.waitForReady()
  expect(await issuerAt(started.port)).toBe('Test CA')
  await copyFile(join(folder, 'next.crt'), cert)
  await copyFile(join(folder, 'next.key'), key)
  const replaced = async () => (await issuerAt(started.port)) === 'Other CA'
  await eventually(replaced, { withinMs: 20_000, that: 'the new certificate is served' })
})

async function issuerAt(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  try {
    await new Promise((resolve, reject) =>
      socket.once('secureConnect', resolve).once('error', reject),
    )
    const { CN } = socket.getPeerCertificate().issuer
    return String(CN)
  } finally {
    socket.destroy()
  }
}
