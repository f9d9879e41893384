/** Telemetry with a real database in a directory of its own, and a clock that tests move. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTelemetryDatabase, type TelemetryDatabase } from '../../store/database.ts'
import { Telemetry } from '../telemetry.ts'

export const startMs = Date.parse('2026-06-01T00:00:00Z')
export const dayMs = 86_400_000
export const day = { fromMs: startMs, toMs: startMs + dayMs }
export const stored = { kind: 'stored', isRepeated: false, missing: 0 }
export const repeated = { kind: 'stored', isRepeated: true, missing: 0 }

const names = [
  { id: 'n-1', name: 'edge-1' },
  { id: 'n-2', name: 'edge-2' },
  // Revoked before, so that another node could take its name.
  { id: 'n-0', name: 'edge-1' },
]

export class TestTelemetry {
  readonly #directory: string
  nowMs = startMs + dayMs
  db!: TelemetryDatabase
  telemetry!: Telemetry

  private constructor(directory: string) {
    this.#directory = directory
  }

  static async open(): Promise<TestTelemetry> {
    const test = new TestTelemetry(await mkdtemp(join(tmpdir(), 'sluice-telemetry-')))
    await test.#open()
    return test
  }

  async restart(): Promise<void> {
    await this.#close()
    await this.#open()
  }

  async remove(): Promise<void> {
    await this.#close()
    await rm(this.#directory, { recursive: true })
  }

  /** Requests of the first day by node, router or service. */
  async totals(by: 'node' | 'router' | 'service' = 'router'): Promise<Record<string, number>> {
    const { series } = await this.telemetry.queryTraffic({ by, ...day })
    return Object.fromEntries(
      series.map(({ key, points }) => [key, points.reduce((sum, p) => sum + p.requests.total, 0)]),
    )
  }

  async #open(): Promise<void> {
    this.db = await openTelemetryDatabase(join(this.#directory, 'telemetry.db'))
    this.telemetry = await Telemetry.open({
      db: this.db,
      nodes: { nodeNames: async () => names },
      now: () => this.nowMs,
      log: {
        error: (fields, message) => {
          throw new Error(message, { cause: fields })
        },
        warn: () => {},
      },
    })
  }

  async #close(): Promise<void> {
    await this.telemetry.close()
    await this.db.destroy()
  }
}
