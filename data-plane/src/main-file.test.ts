/** A node on its own, as a process: `sluice-node run --config`. */
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { access, appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { addressOf, logged, type Program, Programs, statusText } from './program.fixture.ts'
import { type NodeStatus, portOf, request } from './supervisor/node.fixture.ts'
import { waitFor } from './supervisor/wait-for.fixture.ts'

const programs = new Programs()
const origins: Server[] = []
let folder: string
let file: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-file-'))
  file = join(folder, 'node.yaml')
})

afterEach(async () => {
  programs.kill()
  for (const origin of origins.splice(0)) {
    origin.closeAllConnections()
    origin.close()
  }
  await rm(folder, { recursive: true, force: true })
})

/** Starts a server that answers with its name. */
async function origin(name: string): Promise<string> {
  const server = createServer((_request, response) => response.end(name))
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  origins.push(server)
  return `http://127.0.0.1:${portOf(server)}`
}

async function write(url: string, more = ''): Promise<void> {
  await writeFile(
    file,
    `kind: entry-point
name: web
address: 127.0.0.1:0
protocol: http
---
kind: service
name: origin
servers:
  - url: ${url}
---
kind: router
name: all
service: origin
${more}`,
  )
}

function start(argv: readonly string[] = [], environment: NodeJS.ProcessEnv = {}): Program {
  const where = ['--data-dir', join(folder, 'data'), '--status', '127.0.0.1:0', '--workers', '1']
  return programs.start(['run', '--config', file, ...where, ...argv], environment)
}

async function status(program: Program): Promise<NodeStatus> {
  return JSON.parse(await statusText(program, '/status'))
}

it('serves what its file says, and says where that comes from', async () => {
  await write(await origin('one'))
  const program = start()
  expect(await request(await addressOf(program))).toBe('200 one')
  expect(await status(program)).toMatchObject({
    version: 1,
    source: 'file',
    controlPlane: null,
    problems: [],
  })
  program.child.kill('SIGTERM')
  expect(await program.exit).toBe(0)
  expect(program.error).toBe('')
})

it('counts every request, keeps nothing on the disk and makes no data folder', async () => {
  await write(await origin('one'))
  const program = start()
  const address = await addressOf(program)
  for (let count = 0; count < 30; count += 1) await request(address)
  const value = async (name: string) =>
    Number(
      new RegExp(`^sluice_node_${name} (\\d+)$`, 'm').exec(
        await statusText(program, '/metrics'),
      )?.[1],
    )
  const sampled = async () =>
    (await value('log_lines_dropped_total')) + (await value('log_requests_not_kept_total'))
  await waitFor(async () => (await sampled()) >= 30, 'all requests in the counts of the sample')
  expect(await sampled()).toBe(30)
  expect(await value('log_lines_dropped_total')).toBeGreaterThan(0)
  expect(await statusText(program, '/metrics')).toContain(
    'sluice_node_requests_total{router="all",service="origin",class="success"} 30\n',
  )
  expect(await value('telemetry_rows_waiting')).toBe(0)
  await expect(access(join(folder, 'data'))).rejects.toThrow('ENOENT')
})

it('loads gRPC neither in the supervisor nor in a worker', async () => {
  await write(await origin('one'))
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ resolve(specifier, context, next) {
      const found = next(specifier, context)
      if (/grpc/.test(found.url)) process.stderr.write('loads ' + found.url + '\\n')
      return found
    } })`
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(hook)}`
  const alone = start([], { NODE_OPTIONS })
  expect(await request(await addressOf(alone))).toBe('200 one')
  expect(alone.error).toBe('')
  const fleet = programs.start(
    ['run', '--control-plane', '127.0.0.1:1', '--data-dir', folder, '--status', '127.0.0.1:0'],
    { NODE_OPTIONS },
  )
  await fleet.exit
  expect(fleet.error).toContain('grpc-js')
})

it('applies a changed file on SIGHUP without a failed request', async () => {
  const [one, two] = [await origin('one'), await origin('two')]
  await write(one)
  const program = start(['--workers', '2'])
  const address = await addressOf(program)
  const answers: string[] = []
  let isOver = false
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) answers.push(await request(address))
  })
  for (let version = 2; version <= 5; version += 1) {
    await write(version % 2 === 0 ? two : one)
    program.child.kill('SIGHUP')
    await waitFor(() => logged(program, 'version applied').length === version, 'the version')
    const seen = answers.length
    await waitFor(() => answers.length > seen + 20, 'requests under the version')
  }
  isOver = true
  await Promise.all(clients)
  expect(new Set(answers)).toEqual(new Set(['200 one', '200 two']))
  expect(await status(program)).toMatchObject({ version: 5 })
})

it('takes the same content again for no change', async () => {
  const url = await origin('one')
  await write(url)
  const program = start()
  await addressOf(program)
  await write(url, '# with a comment\n')
  program.child.kill('SIGHUP')
  await waitFor(() => logged(program, 'the version runs already').length === 1, 'the answer')
  expect(logged(program, 'version applied')).toHaveLength(1)
  expect(await status(program)).toMatchObject({ version: 1 })
})

it('goes on with what runs when the file is invalid, and says why until it is put right', async () => {
  const [one, two] = [await origin('one'), await origin('two')]
  await write(one)
  const program = start()
  const address = await addressOf(program)
  await write(two, 'priority: high\nservcie: x\n')
  program.child.kill('SIGHUP')
  const message = 'the file is refused, and the running version stays'
  await waitFor(() => logged(program, message).length === 1, 'the refusal')
  const problems = [
    `${file}:14: document 3: router/all: priority: must be integer`,
    `${file}:15: document 3: router/all: servcie: is not a known field`,
  ]
  expect(logged(program, message)[0]?.problems).toEqual(problems)
  expect(await status(program)).toMatchObject({ version: 1, problems })
  expect(await request(address)).toBe('200 one')
  await write(two)
  program.child.kill('SIGHUP')
  await waitFor(async () => (await status(program)).version === 2, 'the next version')
  expect(await status(program)).toMatchObject({ problems: [] })
  expect(await request(address)).toBe('200 two')
})

it('goes on with what runs when an address is taken, and names its line', async () => {
  const url = await origin('one')
  await write(url)
  const program = start()
  const address = await addressOf(program)
  const taken = url.slice('http://'.length)
  await write(url, `---\nkind: entry-point\nname: second\naddress: ${taken}\nprotocol: http\n`)
  program.child.kill('SIGHUP')
  await waitFor(() => logged(program, 'the file could not be applied').length === 1, 'the refusal')
  expect(logged(program, 'the file could not be applied')[0]?.problems).toEqual([
    expect.stringMatching(/node\.yaml:17: document 4: entry-point\/second: address: .*in use/),
  ])
  expect(await request(address)).toBe('200 one')
  expect(await status(program)).toMatchObject({ version: 1 })
})

it('serves a certificate from files, and the one that takes its place on SIGHUP', async () => {
  makeCertificate()
  await write(await origin('one'))
  const https = 'address: 127.0.0.1:0\nprotocol: https\n'
  const files = 'source: uploaded\nchainFile: site.pem\nprivateKeyFile: site.key\n'
  await appendFile(
    file,
    `---\nkind: entry-point\nname: secure\n${https}---\nkind: certificate\nname: site\n${files}`,
  )
  const program = start()
  await addressOf(program)
  const secure = (await status(program)).entryPoints.find(({ name }) => name === 'secure')
  const served = () => fingerprintAt(String(secure?.address))
  expect(await served()).toBe(await fingerprintOf('site.pem'))
  makeCertificate()
  program.child.kill('SIGHUP')
  await waitFor(() => logged(program, 'version applied').length === 2, 'the next version')
  expect(await served()).toBe(await fingerprintOf('site.pem'))
})

function makeCertificate(): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const out = ['-keyout', join(folder, 'site.key'), '-out', join(folder, 'site.pem')]
  const names = ['-subj', '/CN=site', '-addext', 'subjectAltName=DNS:site.example']
  execFileSync('openssl', ['req', '-x509', ...key, ...out, ...names], { stdio: 'ignore' })
}

async function fingerprintOf(name: string): Promise<string> {
  return new X509Certificate(await readFile(join(folder, name))).fingerprint256
}

/** Of the certificate that the address serves. */
async function fingerprintAt(address: string): Promise<string> {
  const port = Number(address.split(':').at(-1))
  const options = { host: '127.0.0.1', port, servername: 'site.example' }
  const socket = connectTls({ ...options, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

it('does not start from an invalid file, and has a line for each problem', async () => {
  await write('https://127.0.0.1:1', 'servcie: x\n')
  const program = start()
  expect(await program.exit).toBe(1)
  expect(program.error.split('\n')).toEqual([
    expect.stringMatching(
      /^sluice-node: .*node\.yaml:9: document 2: service\/origin: servers\[0\]\.url: /,
    ),
    expect.stringMatching(/^sluice-node: .*node\.yaml:14: document 3: router\/all: servcie: /),
    '',
  ])
})

it('gives its workers the limits that it was started with', async () => {
  await write(await origin('one'))
  const program = start(['--limit', 'request-line-bytes-max=100'], {
    SLUICE_LIMIT_REQUEST_LINE_BYTES_MAX: '200',
    SLUICE_LIMIT_HEAD_BYTES_MAX: '65536',
  })
  const address = await addressOf(program)
  const line = (bytes: number) => `GET /${'a'.repeat(bytes - 'GET / HTTP/1.1'.length)} HTTP/1.1\r\n`
  expect(await ask(address, `${line(100)}Host: a\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
  expect(await ask(address, `${line(101)}Host: a\r\n\r\n`)).toMatch(/^HTTP\/1\.1 414 /)
  const filler = (bytes: number) => `X-Filler: ${'f'.repeat(bytes)}\r\n`
  const head = (bytes: number) => `${line(20)}Host: a\r\nConnection: close\r\n${filler(bytes)}\r\n`
  expect(await ask(address, head(12_000))).toMatch(/^HTTP\/1\.1 200 /)
  expect(await ask(address, head(65_536))).toMatch(/^HTTP\/1\.1 431 /)
})

/** The first bytes of the answer to these bytes. */
function ask(address: string, text: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect(Number(address.split(':').at(-1)), '127.0.0.1', () => socket.write(text))
  socket.on('error', reject)
  socket.once('data', (bytes) => {
    socket.destroy()
    resolve(bytes.toString('latin1'))
  })
  return promise
}

it.each([
  [['--control-plane', '127.0.0.1:7401'], /^sluice-node: --config cannot be used with --control/],
  [['--join-token', 'x'], /^sluice-node: --config cannot be used with a join token/],
  [['--limit', 'heads=1'], /^sluice-node: --limit heads: there is no limit of that name/],
])('says in one line why %j is no good', async (argv, line) => {
  const program = start(argv)
  expect(await program.exit).toBe(1)
  expect(program.error).toMatch(line)
  expect(program.error.split('\n')).toHaveLength(2)
})
