/** A real control plane on free ports with a directory of its own, and a client that speaks HTTP to it. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { request } from 'undici'
import { ControlPlane } from '../../control-plane.ts'
import { readSettings } from '../../settings.ts'

export interface ApiAnswer {
  readonly status: number
  readonly contentType: string
  readonly version: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // Tests look into answers of every shape.
  // biome-ignore lint/suspicious/noExplicitAny: the expectations are the check.
  readonly body: any
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly token?: string | null
}

export class RunningControlPlane {
  readonly dataDir: string
  /** Everything that was logged, at the finest level. */
  log = ''
  /** Every answer that was got. */
  answers = ''
  clockOffsetMs = 0
  token = ''
  #controlPlane: ControlPlane | undefined

  private constructor(dataDir: string) {
    this.dataDir = dataDir
  }

  static async start(): Promise<RunningControlPlane> {
    return RunningControlPlane.startIn(await mkdtemp(join(tmpdir(), 'sluice-api-')))
  }

  static async startIn(dataDir: string): Promise<RunningControlPlane> {
    const running = new RunningControlPlane(dataDir)
    await running.startAgain()
    return running
  }

  get origin(): string {
    return `http://${this.#controlPlane?.adminAddress}`
  }

  async startAgain(): Promise<void> {
    const flags = ['--data-dir', this.dataDir, '--admin', '127.0.0.1:0', '--fleet', '127.0.0.1:0']
    const sink = new Writable({
      write: (chunk, _encoding, done) => {
        this.log += chunk
        done()
      },
    })
    this.#controlPlane = await ControlPlane.start({
      settings: readSettings(flags, {}, '0.0.0'),
      softwareVersion: '0.0.0',
      log: pino({ level: 'trace' }, sink),
      now: () => Date.now() + this.clockOffsetMs,
    })
    this.token = (await readFile(join(this.dataDir, 'admin-token'), 'utf8')).trim()
  }

  async stop(): Promise<void> {
    await this.#controlPlane?.stop()
    this.#controlPlane = undefined
  }

  async remove(): Promise<void> {
    await this.stop()
    await rm(this.dataDir, { recursive: true })
  }

  /** `body` is sent as JSON unless it is a text already. */
  async send(method: string, path: string, body?: unknown, sent: Sent = {}): Promise<ApiAnswer> {
    const { token = this.token, headers = {} } = sent
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await request(`${this.origin}${path}`, {
      method: method as 'GET',
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: text ?? null,
    })
    const received = await answer.body.text()
    this.answers += received
    const contentType = String(answer.headers['content-type'] ?? '')
    return {
      status: answer.statusCode,
      contentType,
      version: answer.headers['sluice-version']?.toString(),
      headers: answer.headers,
      text: received,
      body: /[/+]json/.test(contentType) ? JSON.parse(received) : undefined,
    }
  }

  get(path: string): Promise<ApiAnswer> {
    return this.send('GET', `/api/v1${path}`)
  }

  post(path: string, body?: unknown): Promise<ApiAnswer> {
    return this.send('POST', `/api/v1${path}`, body)
  }

  put(path: string, body: unknown): Promise<ApiAnswer> {
    return this.send('PUT', `/api/v1${path}`, body)
  }

  patch(path: string, body: unknown): Promise<ApiAnswer> {
    return this.send('PATCH', `/api/v1${path}`, body)
  }

  delete(path: string): Promise<ApiAnswer> {
    return this.send('DELETE', `/api/v1${path}`)
  }

  apply(...resources: object[]): Promise<ApiAnswer> {
    return this.post('/apply', { resources })
  }

  async version(): Promise<number> {
    return (await this.get('/status')).body.version
  }
}
