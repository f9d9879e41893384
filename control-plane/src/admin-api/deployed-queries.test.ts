import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { RunningControlPlane } from './testing/running-control-plane.ts'

const repository = new URL('../../../', import.meta.url)
let api: RunningControlPlane

beforeAll(async () => {
  api = await RunningControlPlane.start()
})

afterAll(() => api.remove())

const read = (path: string) => readFile(new URL(path, repository), 'utf8')

it.each(['deploy/grafana/sluice.json', 'deploy/prometheus/alerts.yaml'])(
  '%s asks only for metrics that exist',
  async (path) => {
    const { text } = await api.send('GET', '/metrics')
    const ofNodes = await read('data-plane/src/supervisor/metrics.ts')
    const asked = new Set((await read(path)).match(/sluice_(node|control_plane)_[a-z_]+/g))
    expect(asked.size).toBeGreaterThan(4)
    const missing = [...asked].filter((name) =>
      name.startsWith('sluice_node_')
        ? !ofNodes.includes(`'${name.slice('sluice_node_'.length)}'`)
        : !text.includes(`# TYPE ${name} `),
    )
    expect(missing).toEqual([])
  },
)
