import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { afterEach, beforeEach, expect, it } from 'vitest'

const program = fileURLToPath(new URL('main.ts', import.meta.url))
let directory: string
let started: Program[]

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-main-'))
  started = []
})

afterEach(async () => {
  for (const { child } of started) child.kill('SIGKILL')
  await Promise.all(started.map(({ exit }) => exit))
  await rm(directory, { recursive: true })
})

class Program {
  readonly child: ChildProcess
  readonly exit: Promise<number | null>
  stdout = ''
  stderr = ''

  constructor(flags: readonly string[], environment: Record<string, string> = {}) {
    this.child = spawn(process.execPath, [program, ...flags], {
      env: { ...process.env, ...environment },
    })
    this.exit = once(this.child, 'close').then(([code]) => code)
    this.child.stdout?.on('data', (data) => {
      this.stdout += data
    })
    this.child.stderr?.on('data', (data) => {
      this.stderr += data
    })
    started.push(this)
  }

  /** The fields of the ready line. */
  async ready(): Promise<{ adminAddress: string; fleetAddress: string }> {
    for (;;) {
      const line = this.stdout.split('\n').find((text) => text.includes('"msg":"ready"'))
      if (line !== undefined) return JSON.parse(line)
      const ended = await Promise.race([
        once(this.child.stdout ?? this.child, 'data').then(() => false),
        this.exit.then(() => true),
      ])
      if (ended) throw new Error(`ended before it was ready: ${this.stderr}`)
    }
  }
}

const onFreePorts = (dataDir: string, ...more: string[]) => [
  ...['--data-dir', dataDir, '--admin', '127.0.0.1:0', '--fleet', '127.0.0.1:0'],
  ...more,
]

async function expectRefusal(running: Program, text: string): Promise<void> {
  expect(await running.exit).toBe(1)
  expect(running.stderr).toMatch(/^sluice-control-plane: [^\n]*\n$/)
  expect(running.stderr).toContain(text)
}

it('starts in an empty place, tells its addresses, and makes its files for the owner alone', async () => {
  const dataDir = join(directory, 'new', 'data')
  const { adminAddress, fleetAddress } = await new Program(onFreePorts(dataDir)).ready()
  expect(fleetAddress).toMatch(/^127\.0\.0\.1:\d+$/)
  const answer = await request(`http://${adminAddress}/healthz`)
  expect([answer.statusCode, await answer.body.json()]).toEqual([200, { status: 'ok' }])
  const mode = async (name: string) => (await stat(join(dataDir, name))).mode & 0o777
  expect([await mode('admin-token'), await mode('master-key'), await mode('ca.pem')]).toEqual([
    0o600, 0o600, 0o644,
  ])
  expect(await readFile(join(dataDir, 'ca.pem'), 'utf8')).toMatch(/^-----BEGIN CERTIFICATE-----/)
})

it.each(['SIGTERM', 'SIGINT'] as const)(
  'ends on %s with code 0, within 3 s, with open connections',
  async (signal) => {
    const running = new Program(onFreePorts(directory))
    const { adminAddress } = await running.ready()
    await request(`http://${adminAddress}/healthz`).then(({ body }) => body.dump())
    const before = performance.now()
    running.child.kill(signal)
    expect(await running.exit).toBe(0)
    expect(performance.now() - before).toBeLessThan(3_000)
    expect(running.stderr).toBe('')
  },
)

// Three starts take longer than one on a busy machine.
it('does not run twice on one data directory, but again after SIGKILL', {
  timeout: 60_000,
}, async () => {
  const first = new Program(onFreePorts(directory))
  await first.ready()
  const second = new Program(onFreePorts(directory))
  await expectRefusal(second, `another control plane runs on the data directory ${directory}`)
  first.child.kill('SIGKILL')
  await first.exit
  await new Program(onFreePorts(directory)).ready()
})

it('says in one line that a port is taken', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  await expectRefusal(new Program(onFreePorts(directory, '--admin', address)), address)
  server.close()
})

it('refuses a flag that is wrong in one line, and lists the right ones', async () => {
  const wrong = new Program(['--admin', 'nonsense'])
  expect(await wrong.exit).toBe(1)
  expect(wrong.stderr).toMatch(/^error: option '--admin <address>' [^\n]*\n$/)
  const help = new Program(['--help'])
  expect(await help.exit).toBe(0)
  for (const name of ['DATA_DIR', 'ADMIN', 'FLEET', 'FLEET_NAME', 'MASTER_KEY_FILE', 'LOG_LEVEL']) {
    expect(help.stdout).toContain(`SLUICE_${name}`)
  }
})
