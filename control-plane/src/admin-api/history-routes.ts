/** Whether nodes run what was never published here, as after an older backup was restored, and the way on. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { byWhom } from './configuration-writer.ts'
import type { AdminApiParts } from './parts.ts'
import { responses } from './schemas.ts'

const tags = ['nodes']
const HistoryAnswer = Type.Object(
  {
    isBehind: Type.Boolean({
      description: 'true: no node that runs anything gets an update until this is accepted',
    }),
    newestVersion: Type.Integer({ description: 'the newest that was published here; 0: none' }),
    newestVersionSeen: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'the newest that a node was seen with and that was never published here',
    }),
    nodesAhead: Type.Array(Type.String(), { description: 'names of the nodes that run such one' }),
  },
  { title: 'History' },
)
const getHistory = { tags, response: responses({ 200: HistoryAnswer }, 401) }
const acceptHistory = {
  tags,
  description:
    'Publishes the newest configuration of this control plane under a number after all that nodes were seen with, and sends it to them.',
  response: responses({ 200: HistoryAnswer }, 401),
}

export const historyRoutes: FastifyPluginAsyncTypebox<AdminApiParts> = async (
  app,
  { publisher, nodes, history },
) => {
  const answer = async () => {
    const newestVersion = Number(publisher.current()?.number ?? 0n)
    const ahead = (await nodes.list()).filter(
      ({ id, version }) => version > newestVersion || history.isStranger(id),
    )
    return {
      isBehind: history.newestSeen !== undefined,
      newestVersion,
      newestVersionSeen: history.newestSeen ?? null,
      nodesAhead: ahead.map(({ name }) => name),
    }
  }
  app.get('/history', { schema: getHistory }, answer)
  app.post('/history/accept', { schema: acceptHistory }, async (request) => {
    await history.accept(publisher, byWhom(request))
    return answer()
  })
}
