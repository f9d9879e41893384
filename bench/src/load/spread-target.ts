/**
 * A server whose answers take milliseconds, spread as those of a busy service are: `spread-target.ts SEED`. It
 * prints its port and ends with its standard input. Beside it a generator's own wake-ups are small, so that two
 * generators can be compared by what they report.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const BODY = Buffer.alloc(1_024, 'x')
const LEAST_MS = 3
/** Of what comes on top, which is exponential: the median is then 6.5 ms and the 99th percentile 26 ms. */
const MEAN_MS = 5

/** Numbers from 0 to 1, Marsaglia's xorshift32. */
function randomFrom(seed: number): () => number {
  let state = seed | 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

const random = randomFrom(Number(process.argv[2] ?? 1))
const server = createServer((_request, response) => {
  const delayMs = LEAST_MS - MEAN_MS * Math.log(1 - random())
  setTimeout(() => response.writeHead(200, { 'content-length': BODY.length }).end(BODY), delayMs)
})
server.keepAliveTimeout = 0
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
process.stdin.resume().on('end', () => process.exit(0))
