/** A node on its own: versions come from a file, counted up from 1 with each change that is applied. */
import type { Logger } from 'pino'
import { readStaticFile, type StaticReading } from '../configuration/static-file.ts'
import { StartFailure } from './errors.ts'
import { LocalOutlet } from './report-outlet.ts'
import { ResourceSet } from './resource-set.ts'
import type { VersionSource } from './version-source.ts'
import type { VersionOutcome, VersionSwitch } from './version-switch.ts'

type GoodReading = Extract<StaticReading, { kind: 'read' }>

export class FileSource implements VersionSource {
  readonly keeper = undefined
  readonly diskProblems = []
  readonly outlet = new LocalOutlet()
  readonly nodeId = ''
  readonly controlPlane = null
  readonly #path: string
  readonly #logger: Logger
  #reading: GoodReading
  #problems: readonly string[] = []
  #versions: VersionSwitch | undefined
  /** Readings take turns, so that the last one that is asked for is the last one that is offered. */
  #turn: Promise<void> = Promise.resolve()

  private constructor(path: string, logger: Logger, reading: GoodReading) {
    this.#path = path
    this.#logger = logger
    this.#reading = reading
  }

  /** Throws StartFailure with all problems of the file: there is nothing else to run. */
  static async open(path: string, logger: Logger): Promise<FileSource> {
    const reading = await readStaticFile(path)
    if (reading.kind === 'refused') throw new StartFailure(reading.problems.join('\n'))
    return new FileSource(path, logger, reading)
  }

  /** Why the file as it is now is not in use; empty when it is. */
  get problems(): readonly string[] {
    return this.#problems
  }

  async start(versions: VersionSwitch): Promise<void> {
    this.#versions = versions
    this.#offer()
  }

  reload(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#readAgain())
    return this.#turn
  }

  tell(outcome: VersionOutcome): void {
    if (outcome.kind === 'applied') return
    const problems = outcome.problems.map(this.#reading.locate)
    this.#logger.error({ problems }, 'the file could not be applied')
  }

  async stop(): Promise<void> {
    await this.#turn
  }

  async #readAgain(): Promise<void> {
    const reading = await readStaticFile(this.#path)
    if (reading.kind === 'refused') {
      this.#problems = reading.problems
      const { problems } = reading
      this.#logger.error({ problems }, 'the file is refused, and the running version stays')
      return
    }
    this.#problems = []
    this.#reading = reading
    this.#offer()
  }

  #offer(): void {
    const resources = ResourceSet.fromSnapshot({
      resources: this.#reading.resources.map((bytes) => Buffer.from(bytes)),
    })
    this.#versions?.offerContent(resources)
  }
}
