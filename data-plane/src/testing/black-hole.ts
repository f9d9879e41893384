/** An address on which connects hang: it is listened on, nobody accepts, and its queue is full. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** The process stops dead when it listens, so that the kernel alone answers, until its queue is full. */
const PROGRAM = `
  const server = require('node:net').createServer()
  server.listen({ host: process.argv[1], port: Number(process.argv[2]), backlog: 1 }, () => {
    require('node:fs').writeSync(1, String(server.address().port))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`
const CONNECT_MS = 200
const FILLERS_MAX = 10

export class BlackHole {
  readonly port: number
  readonly #child: ChildProcess
  readonly #fillers: Socket[] = []

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  /** `port` 0: a free one. */
  static async open(host: string, port = 0): Promise<BlackHole> {
    const child = spawn(process.execPath, ['-e', PROGRAM, host, String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [text] = await once(child.stdout, 'data')
    const hole = new BlackHole(child, Number(text))
    while (await hole.#fills(host)) {
      if (hole.#fillers.length > FILLERS_MAX) throw new Error('connects do not hang here')
    }
    return hole
  }

  stop(): void {
    for (const filler of this.#fillers) filler.destroy()
    this.#child.kill('SIGKILL')
  }

  /** Whether one more connection was taken into the queue. */
  async #fills(host: string): Promise<boolean> {
    const socket = connect({ host, port: this.port })
    socket.on('error', () => {})
    this.#fillers.push(socket)
    const timeout = AbortSignal.timeout(CONNECT_MS)
    return once(socket, 'connect', { signal: timeout }).then(
      () => true,
      () => false,
    )
  }
}
