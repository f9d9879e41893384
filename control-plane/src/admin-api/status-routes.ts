/** The whole at a glance. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { NodeView } from '../fleet/node-view.ts'
import type { AdminApiParts } from './parts.ts'
import { responses, StatusAnswer } from './schemas.ts'

const getStatus = { tags: ['status'], response: responses({ 200: StatusAnswer }, 401) }

export const statusRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { publisher, nodes, startedAtMs, softwareVersion },
) => {
  app.get('/status', { schema: getStatus }, async () => {
    const current = publisher.current()
    return {
      version: Number(current?.number ?? 0n),
      hash: current?.hash ?? '',
      publishedAt: toIso(publisher.publishedAtMs),
      nodes: countNodes(await nodes.list()),
      counts: publisher.state.configuration.counts,
      startedAt: new Date(startedAtMs).toISOString(),
      softwareVersion,
    }
  })
}

function toIso(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : new Date(timeMs).toISOString()
}

function countNodes(nodes: readonly NodeView[]) {
  const count = (state: NodeView['state']) => nodes.filter((node) => node.state === state).length
  return {
    total: nodes.length,
    connected: nodes.filter(({ isConnected }) => isConnected).length,
    inSync: count('in-sync'),
    rejected: count('rejected'),
    lost: count('lost'),
    revoked: count('revoked'),
  }
}
