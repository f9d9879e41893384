/** /metrics in the Prometheus text format. Labels come from configuration and fixed lists, never from traffic. */
import type { FastifyPluginAsync } from 'fastify'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { nodeStates } from '../fleet/node-view.ts'
import type { AdminApiParts } from './parts.ts'

type Parts = Pick<AdminApiParts, 'nodes' | 'publisher' | 'telemetry'>

export const metricsRoutes: FastifyPluginAsync<Parts> = async (app, parts) => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'sluice_control_plane_' })
  addFleet(registry, parts)
  addTelemetry(registry, parts)
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    const text = await registry.metrics()
    return reply.header('cache-control', 'no-store').type(registry.contentType).send(text)
  })
}

function addFleet(registry: Registry, { nodes, publisher }: Parts): void {
  const registers = [registry]
  new Gauge({
    name: 'sluice_control_plane_version',
    help: 'Number of the newest version; 0: nothing was ever published.',
    registers,
    collect() {
      this.set(Number(publisher.current()?.number ?? 0n))
    },
  })
  new Gauge({
    name: 'sluice_control_plane_objects',
    help: 'Configured objects.',
    labelNames: ['kind'],
    registers,
    collect() {
      const { counts } = publisher.state.configuration
      for (const [kind, count] of Object.entries(counts)) this.set({ kind }, count)
    },
  })
  new Gauge({
    name: 'sluice_control_plane_nodes',
    help: 'Nodes by state.',
    labelNames: ['state'],
    registers,
    async collect() {
      const all = await nodes.list()
      for (const state of nodeStates) {
        this.set({ state }, all.filter((node) => node.state === state).length)
      }
    },
  })
}

function addTelemetry(registry: Registry, { telemetry }: Parts): void {
  new Gauge({
    name: 'sluice_control_plane_telemetry_rows',
    help: 'Stored rows of counters and of log lines.',
    labelNames: ['table'],
    registers: [registry],
    collect() {
      const { traffic, logs } = telemetry.storedRows
      this.set({ table: 'traffic' }, traffic)
      this.set({ table: 'logs' }, logs)
    },
  })
}
