/** Starts the parts in order, each when the one before it answers, and what the first start needs. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { env as environment } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Admin } from './admin.mjs'
import { UpFailure } from './options.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const node = join(root, 'node_modules', 'node', 'bin', 'node')
const cli = join(root, 'control-plane/dist/cli/main.js')

const readyWithinMs = 30_000
const pollMs = 100
const pollTimeoutMs = 2_000
/** Leaves the supervisor time to end its workers before up.mjs ends the supervisor. */
const drainGraceSeconds = 1

export class LocalSluice {
  #parts
  #places
  #dataDir

  constructor({ parts, places, dataDir }) {
    this.#parts = parts
    this.#places = places
    this.#dataDir = dataDir
  }

  /** Answers what is there to try out. */
  async start() {
    await this.#startOrigin()
    const admin = await this.#startControlPlane()
    const isFirst = await admin.isEmpty()
    if (isFirst) await this.#applyDemo()
    const entryPoints = await admin.entryPoints()
    await this.#startNodes(admin, entryPoints)
    return { isFirst, entryPoints, hasDemo: await admin.hasRouter('demo') }
  }

  async #startOrigin() {
    const [host, port] = this.#places.origin.address.split(':')
    const command = [node, join(root, 'deploy/local/echo-origin.mjs'), host, port]
    const part = this.#parts.start({ name: 'origin', role: 'other', command })
    await this.#untilReady(part)
  }

  async #startControlPlane() {
    const { admin, fleet } = this.#places
    const part = this.#parts.start({
      name: 'control-plane',
      role: 'other',
      command: [
        node,
        join(root, 'control-plane/dist/main.js'),
        ...['--data-dir', this.#dataDir],
        ...['--admin', admin.address],
        ...['--fleet', fleet.address],
        ...['--log-format', 'json'],
      ],
      env: withoutSluiceVariables(),
    })
    await this.#untilReady(part)
    return new Admin(admin.address, join(this.#dataDir, 'admin-token'))
  }

  /** By the same command that people use, and with the origin's port as it is this time. */
  async #applyDemo() {
    const text = readFileSync(join(root, 'deploy/local/demo.yaml'), 'utf8')
    const documents = text.replace('127.0.0.1:9090', this.#places.origin.address)
    const { admin } = this.#places
    const child = spawn(
      node,
      [
        cli,
        'apply',
        ...['-f', '-'],
        ...['--server', `http://${admin.address}`],
        ...['--token-file', join(this.#dataDir, 'admin-token')],
      ],
      { stdio: ['pipe', 'ignore', 'pipe'], signal: this.#parts.signal },
    )
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      said += chunk
    })
    const ended = new Promise((resolve) => {
      child.once('close', resolve)
      child.on('error', (error) => resolve(error.message))
      // Its exit code says more than the pipe that it closed.
      child.stdin.on('error', () => {})
    })
    child.stdin.end(documents)
    const code = await this.#parts.during(ended, readyWithinMs, () => 'sluice apply did not end')
    if (code !== 0)
      throw new UpFailure(`deploy/local/demo.yaml could not be applied: ${said.trim()}`)
  }

  async #startNodes(admin, entryPoints) {
    const started = []
    for (const [index, places] of this.#places.nodes.entries()) {
      started.push(await this.#startNode(admin, places, index, entryPoints))
    }
    await Promise.all(started.map((part) => this.#untilReady(part)))
    await this.#untilInSync(admin)
    const accepting = this.#places.nodes.map(({ status }) => untilAccepting(status.address))
    await this.#parts.during(Promise.all(accepting), readyWithinMs, () => 'the nodes do not answer')
  }

  async #startNode(admin, { name, status, ...own }, index, entryPoints) {
    const dataDir = join(this.#dataDir, 'nodes', name)
    const listen = entryPoints.flatMap((entryPoint) => [
      '--listen',
      `${entryPoint.name}=${own[entryPoint.name]?.address ?? countedUp(entryPoint.address, index)}`,
    ])
    // By the environment: arguments can be read by every user of the machine.
    const joinToken = existsSync(join(dataDir, 'identity.json'))
      ? {}
      : { SLUICE_JOIN_TOKEN: await admin.createJoinToken() }
    return this.#parts.start({
      name,
      role: 'node',
      command: [
        node,
        join(root, 'data-plane/dist/main.js'),
        'run',
        ...['--control-plane', this.#places.fleet.address],
        ...['--name', name],
        ...['--data-dir', dataDir],
        ...['--status', status.address],
        ...['--drain-grace', String(drainGraceSeconds)],
        ...['--log-format', 'json'],
        ...listen,
      ],
      env: { ...withoutSluiceVariables(), ...joinToken },
    })
  }

  #untilReady(part) {
    return this.#parts.during(part.ready, readyWithinMs, () => {
      const said =
        part.lastLines.length > 0 ? `; it said last:\n  ${part.lastLines.join('\n  ')}` : ''
      return `${part.name} did not get ready within ${readyWithinMs / 1000} s${said}`
    })
  }

  /** Until every node runs the newest version, or cannot: then it is said, and the rest goes on. */
  async #untilInSync(admin) {
    const names = new Set(this.#places.nodes.map(({ name }) => name))
    let ours = []
    const settled = async () => {
      do {
        ours = (await admin.nodes()).filter(({ name }) => names.has(name))
        if (ours.every(({ state }) => settledStates.has(state))) return
      } while (await pause(pollMs, true))
    }
    await this.#parts.during(settled(), readyWithinMs, () => {
      const states = ours.map(({ name, state }) => `${name} is ${state}`).join(', ')
      return `not all nodes run the newest version after ${readyWithinMs / 1000} s: ${states}`
    })
    for (const line of ours.flatMap(complaints)) process.stdout.write(`${line}\n`)
  }
}

const settledStates = new Set(['in-sync', 'rejected', 'revoked'])

function complaints({ name, state, rejected }) {
  if (state === 'revoked') {
    return [`${name} was revoked: it serves what it has on disk and gets nothing new`]
  }
  if (state !== 'rejected') return []
  return rejected.problems.map(
    ({ kind, name: object, field, reason }) =>
      `${name} refuses version ${rejected.version}: ${kind}/${object}: ${field}: ${reason}`,
  )
}

/** Variables of the user's shell are meant for a Sluice of their own, except what unlocks this one's data. */
function withoutSluiceVariables() {
  const kept = new Set(['SLUICE_MASTER_KEY', 'SLUICE_MASTER_KEY_FILE'])
  const others = Object.keys(environment).filter(
    (name) => name.startsWith('SLUICE_') && !kept.has(name),
  )
  return Object.fromEntries(others.map((name) => [name, undefined]))
}

/** The address of an entry point that was added later, moved on for the nodes after the first. */
function countedUp(address, index) {
  const at = address.lastIndexOf(':')
  return `${address.slice(0, at)}:${Number(address.slice(at + 1)) + index}`
}

/** Asked at the status endpoint: a request to an entry point would be counted as traffic. */
async function untilAccepting(statusAddress) {
  const timeout = () => AbortSignal.timeout(pollTimeoutMs)
  do {
    const answer = await fetch(`http://${statusAddress}/readyz`, { signal: timeout() }).catch(
      () => undefined,
    )
    if (answer?.ok) return
  } while (await pause(pollMs, true))
}
