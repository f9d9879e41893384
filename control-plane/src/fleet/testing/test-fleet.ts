/** A real fleet server on a free port, with real databases in a directory of its own. For tests. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { LayeredMap } from '@sluice/matching'
import { CertificateAuthority } from '../../certificates/authority.ts'
import type { PublishedVersion, VersionSource } from '../../publishing/published-version.ts'
import { digestOf } from '../../publishing/version-hash.ts'
import type { ViewNeed } from '../../publishing/version-view.ts'
import {
  type Database,
  openDatabase,
  openTelemetryDatabase,
  type TelemetryDatabase,
} from '../../store/database.ts'
import { Vault } from '../../store/vault.ts'
import { Telemetry } from '../../telemetry/telemetry.ts'
import { FleetServer, type FleetServerOptions } from '../fleet-server.ts'
import { HistoryGuard } from '../history-guard.ts'
import { JoinTokens } from '../join-tokens.ts'
import { LogRaises } from '../log-raises.ts'
import { NodeRegistry } from '../node-registry.ts'
import type { NodeView } from '../node-view.ts'

export class TestVersions implements VersionSource {
  readonly #listeners = new Set<(version: PublishedVersion) => void>()
  #current: PublishedVersion | undefined
  /** What the next versions ask of nodes. */
  needs: readonly ViewNeed[] = []

  async hasPublished(number: number, hash: string): Promise<boolean> {
    return number <= Number(this.#current?.number ?? 0n) && hash === hashOf(BigInt(number))
  }

  current(): PublishedVersion | undefined {
    return this.#current
  }

  currentFor(): PublishedVersion | undefined {
    return this.#current
  }

  onStageEnded(): () => void {
    return ignore
  }

  onPublished(listener: (version: PublishedVersion) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  publish(number: bigint, resources: readonly Uint8Array[] = []): PublishedVersion {
    const hash = hashOf(number)
    const entries = LayeredMap.of(
      new Map(
        resources.map((encoded, index) => [
          `router r${index}`,
          { encoded, digest: digestOf(encoded), needs: [] },
        ]),
      ),
    )
    const view = { hash, entries, needs: this.needs, isEmptyOnPurpose: true }
    const version = { number, hash, viewFor: () => view }
    this.#current = version
    for (const listener of this.#listeners) {
      listener(version)
    }
    return version
  }
}

/** A hash for a version of a test: its number in 64 hex digits. */
export function hashOf(number: bigint): string {
  return number.toString(16).padStart(64, '0')
}

function ignore(): void {}

export class TestFleet {
  readonly directory: string
  readonly versions = new TestVersions()
  readonly #vault = new Vault(randomBytes(32))
  readonly #options: Partial<FleetServerOptions>
  /** What the parts take for the time; tests may move it. */
  clockOffsetMs = 0
  address = ''
  /** What was logged as an error: nothing, whatever a test does from outside. */
  readonly errors: string[] = []
  readonly #log = {
    debug: ignore,
    info: ignore,
    warn: ignore,
    error: (fields: object, message: string) => {
      this.errors.push(`${message}: ${inspect(fields)}`)
    },
  }
  db!: Database
  telemetryDb!: TelemetryDatabase
  authority!: CertificateAuthority
  registry!: NodeRegistry
  history!: HistoryGuard
  logRaises!: LogRaises
  tokens!: JoinTokens
  telemetry!: Telemetry
  server!: FleetServer

  private constructor(directory: string, options: Partial<FleetServerOptions>) {
    this.directory = directory
    this.#options = options
  }

  static async start(options: Partial<FleetServerOptions> = {}): Promise<TestFleet> {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-fleet-'))
    const fleet = new TestFleet(directory, options)
    await fleet.open()
    return fleet
  }

  readonly now = (): number => Date.now() + this.clockOffsetMs

  async open(): Promise<void> {
    this.db = await openDatabase(join(this.directory, 'sluice.db'))
    this.telemetryDb = await openTelemetryDatabase(join(this.directory, 'telemetry.db'))
    const { db, now, versions } = this
    this.authority = await CertificateAuthority.open({ db, vault: this.#vault, now })
    this.registry = new NodeRegistry({ db, versions, now })
    this.logRaises = new LogRaises(now)
    this.history = await HistoryGuard.open({ db, past: versions, log: this.#log })
    this.tokens = new JoinTokens({ db, authority: this.authority, now })
    this.telemetry = await Telemetry.open({
      db: this.telemetryDb,
      nodes: this.registry,
      now,
      log: this.#log,
    })
    this.server = new FleetServer({
      versions,
      authority: this.authority,
      registry: this.registry,
      history: this.history,
      logRaises: this.logRaises,
      tokens: this.tokens,
      telemetry: this.telemetry,
      log: this.#log,
      now,
      ...this.#options,
    })
    this.address = await this.server.start('127.0.0.1:0')
  }

  async close(): Promise<void> {
    await this.server.stop()
    await this.telemetry.close()
    await this.telemetryDb.destroy()
    await this.db.destroy()
  }

  /** As after a crash and a new start: the same data, another port. */
  async restart(): Promise<void> {
    await this.close()
    await this.open()
  }

  async remove(): Promise<void> {
    await this.close()
    await rm(this.directory, { recursive: true })
    assert.deepEqual(this.errors, [])
  }

  async node(nameOrId: string): Promise<NodeView> {
    const node = await this.registry.find(nameOrId)
    if (node === undefined) {
      throw new Error(`there is no node ${nameOrId}`)
    }
    return node
  }

  async token(): Promise<string> {
    return (await this.tokens.create({})).token
  }
}
