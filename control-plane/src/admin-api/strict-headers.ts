/** What browsers are told of every answer: nothing of the API is a page, may be framed, guessed at or kept. */
import type { FastifyInstance } from 'fastify'

const strict = Object.freeze({
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
})

/** A route that has headers of its own by these names keeps them: the dashboard's files, the API's documentation. */
export function sendStrictHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(strict)
  })
}
