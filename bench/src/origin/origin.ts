/**
 * The origin: nginx with bodies of fixed sizes on one to four ports, and its own count of requests and connections,
 * which no cache of a proxy and no retry escapes. Any path that has no size of its own answers 3,820 bytes.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processorsIn } from '../machine/process-tree.ts'
import { fileOf } from '../peers/find-program.ts'
import { PinnedProcess } from '../peers/pinned-process.ts'
import { statusOf } from '../peers/ready.ts'
import { fillTemplate } from '../peers/template.ts'
import { freePort } from '../programs.ts'

const TEMPLATE = fileURLToPath(new URL('./origin.conf.template', import.meta.url))
const LISTENERS_MAX = 4
const BLOCK_BYTES = 1_024

/** By path; `other` is that of every further path. */
export const ORIGIN_BYTES = Object.freeze({
  '/': 615,
  '/1k': 1_024,
  '/10k': 10_240,
  '/64k': 65_536,
  other: 3_820,
})

export interface OriginSetting {
  readonly folder: string
  /** As taskset takes them. */
  readonly processors: string
  /** 1 to 4. */
  readonly listeners?: number
}

export interface OriginCounts {
  readonly requests: number
  /** Accepted connections. */
  readonly connections: number
}

export interface Origin {
  /** HOST:PORT of each listener. */
  readonly addresses: readonly string[]
  processes(): readonly number[]
  /** Since the start, without those of its own reading. */
  counts(): Promise<OriginCounts>
  stop(): Promise<void>
}

export async function startOrigin(setting: OriginSetting): Promise<Origin> {
  const binary = await fileOf('nginx')
  if (binary === undefined)
    throw new Error('the origin needs nginx: bench/peers/install --only nginx')
  const { folder, processors, listeners = 1 } = setting
  if (!Number.isInteger(listeners) || listeners < 1 || listeners > LISTENERS_MAX) {
    throw new Error(`an origin has 1 to ${LISTENERS_MAX} listeners, not ${listeners}`)
  }
  const ports = await freePorts(listeners + 1)
  const [statusPort = 0, ...served] = ports
  const file = await writeFiles(folder, { statusPort, served, processors })
  const program = new PinnedProcess({
    name: 'origin',
    command: binary,
    args: ['-c', file, '-p', folder],
    folder,
    processors,
  })
  try {
    await program.until('it answers no request', async () => {
      const answers = await Promise.all(served.map((port) => statusOf('http', port, 'localhost')))
      return answers.every((status) => status === 200)
    })
  } catch (error) {
    await program.stop()
    throw error
  }
  return new NginxOrigin(program, served, statusPort)
}

class NginxOrigin implements Origin {
  readonly addresses: readonly string[]
  readonly #program: PinnedProcess
  readonly #statusPort: number
  /** nginx counts these too: each is a request and a connection. */
  #reads = 0

  constructor(program: PinnedProcess, served: readonly number[], statusPort: number) {
    this.#program = program
    this.#statusPort = statusPort
    this.addresses = served.map((port) => `127.0.0.1:${port}`)
  }

  processes(): readonly number[] {
    return this.#program.processes()
  }

  async counts(): Promise<OriginCounts> {
    this.#reads += 1
    const reads = this.#reads
    const answer = await fetch(`http://127.0.0.1:${this.#statusPort}/status`, {
      headers: { connection: 'close' },
    })
    const text = await answer.text()
    const [, accepts, , requests] = /^ (\d+) (\d+) (\d+)/m.exec(text) ?? []
    if (accepts === undefined || requests === undefined) {
      throw new Error(`the origin's status is not what nginx writes: ${text}`)
    }
    return { requests: Number(requests) - reads, connections: Number(accepts) - reads }
  }

  stop(): Promise<void> {
    return this.#program.stop()
  }
}

async function writeFiles(
  folder: string,
  {
    statusPort,
    served,
    processors,
  }: { statusPort: number; served: readonly number[]; processors: string },
): Promise<string> {
  const files = join(folder, 'files')
  await mkdir(files, { recursive: true })
  await writeFile(join(files, '64k'), 'x'.repeat(ORIGIN_BYTES['/64k']))
  const file = join(folder, 'origin.conf')
  const template = await readFile(TEMPLATE, 'utf8')
  const filled = fillTemplate(template, {
    folder,
    user: process.getuid?.() === 0 ? 'root' : '',
    workers: String(processorsIn(processors).length),
    listener: served.map(String),
    statusPort: String(statusPort),
    block: 'x'.repeat(BLOCK_BYTES),
    page: page(ORIGIN_BYTES['/']),
    rest: 'x'.repeat(ORIGIN_BYTES.other - 3 * BLOCK_BYTES),
  })
  await writeFile(file, filled)
  return file
}

function page(bytes: number): string {
  const [head, tail] = ['<!doctype html><title>Origin</title><p>', '</p>']
  return head + 'x'.repeat(bytes - head.length - tail.length) + tail
}

/** All different: each is held until the last is known. */
async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}
