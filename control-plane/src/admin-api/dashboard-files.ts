/** The built dashboard: static files under a policy that lets them load nothing from elsewhere. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

// The same from src/ and from dist/, which are at the same depth.
const root = fileURLToPath(new URL('../../dist/dashboard/', import.meta.url))

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const immutable = 'public, max-age=31536000, immutable'

/** Not in a plugin of its own, so that the handler of unknown routes can send files as well. */
export async function serveDashboard(app: FastifyInstance): Promise<void> {
  if (!existsSync(root)) return
  await app.register(fastifyStatic, {
    root,
    prefix: '/',
    // A route for each file: a wildcard would take the paths of the API before it can ask for a token.
    wildcard: false,
    preCompressed: true,
    cacheControl: false,
    schemaHide: true,
    setHeaders,
  })
}

/** A path of the dashboard's own is answered with its page; undefined: it is none. */
export function sendDashboard(
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  const path = request.url.split('?')[0] ?? ''
  const isPage = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html')
  if (!isPage || path.startsWith('/api/') || path.startsWith('/assets/')) return undefined
  return existsSync(root) ? reply.code(200).sendFile('index.html') : undefined
}

function setHeaders(reply: FastifyReply, path: string): void {
  reply.header('content-security-policy', policy)
  reply.header('x-content-type-options', 'nosniff')
  reply.header('x-frame-options', 'DENY')
  reply.header('referrer-policy', 'no-referrer')
  reply.header('cross-origin-opener-policy', 'same-origin')
  reply.header('cache-control', path.includes('/assets/') ? immutable : 'no-cache')
}
