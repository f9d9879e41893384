/**
 * The origin of load tests, a process of its own: node:http, whose reading of HTTP is not ours.
 * GET /bytes?offset&length[&chunked] sends that part of the pattern; POST sends its body back with the
 * framing it came with; anything else is answered with the origin's name and the request target.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { pattern } from '../load/pattern.ts'

const name = process.argv[2] ?? 'origin'

const server = createServer((request, answer) => {
  const url = new URL(request.url ?? '/', 'http://origin')
  if (request.method === 'POST') void echo(request, answer)
  else if (url.pathname === '/bytes') sendBytes(url, answer)
  else {
    const text = `${name} ${request.url}`
    answer.setHeader('content-length', Buffer.byteLength(text)).end(text)
  }
})
// Connections stay open for as long as the proxy wants: this origin must never be what fails.
server.keepAliveTimeout = 3_600_000
server.headersTimeout = 0
server.requestTimeout = 0
server.listen(0, '127.0.0.1', 4096, () => {
  process.stdout.write(
    `${JSON.stringify({ msg: 'ready', port: (server.address() as AddressInfo).port })}\n`,
  )
})
process.once('SIGTERM', () => process.exit(0))

async function echo(request: IncomingMessage, answer: ServerResponse): Promise<void> {
  const length = request.headers['content-length']
  if (length !== undefined) answer.setHeader('content-length', length)
  try {
    await pipeline(request, answer)
  } catch (error) {
    process.stderr.write(`echo of ${request.url} failed: ${error}\n`)
  }
}

function sendBytes(url: URL, answer: ServerResponse): void {
  const bytes = pattern(
    Number(url.searchParams.get('offset')),
    Number(url.searchParams.get('length')),
  )
  if (!url.searchParams.has('chunked')) answer.setHeader('content-length', bytes.length)
  answer.end(bytes)
}
