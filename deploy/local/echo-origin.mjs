/** A small origin for trying things out: answers every request with what it received, as JSON. */
import { createServer } from 'node:http'

const [host = '127.0.0.1', port = '9090'] = process.argv.slice(2)

const server = createServer((request, response) => {
  let bodyBytes = 0
  request.on('data', (chunk) => {
    bodyBytes += chunk.length
  })
  request.on('end', () => {
    const { method, url, headers } = request
    const body = `${JSON.stringify({ method, path: url, headers, bodyBytes }, null, 2)}\n`
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  })
})

server.on('error', (error) => {
  process.stderr.write(`echo origin: cannot listen on ${host}:${port}: ${error.code}\n`)
  process.exit(1)
})
server.listen(Number(port), host, () => {
  process.stdout.write(`${JSON.stringify({ level: 30, time: Date.now(), msg: 'ready' })}\n`)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    server.close(() => process.exit(0))
    server.closeAllConnections()
  })
}
