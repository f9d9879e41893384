/**
 * The process that holds keep-alive connections without using them: each sends one request, reads its answer
 * and stays. Arguments: protocol, port, path and, if not the default ones, groups for the key exchange. For each
 * number of connections that it reads, one on a line, it opens so many more and prints how many it holds. It ends
 * with its standard input.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { connect as connectTls } from 'node:tls'
import { HOST } from '../scenarios.ts'

/** Opened at the same time; more would queue in the proxy and need memory there for a moment. */
const AT_ONCE = 16

const [, , protocol, port, path, groups] = process.argv
let held = 0

for await (const line of createInterface({ input: process.stdin })) {
  const wanted = held + Number(line)
  const lanes = Array.from({ length: AT_ONCE }, async () => {
    while (held < wanted) {
      held += 1
      await open()
    }
  })
  await Promise.all(lanes)
  process.stdout.write(`${held}\n`)
}
process.exit(0)

/** Resolves at the first bytes of the answer, which come in one piece. */
function open(): Promise<void> {
  const to = { port: Number(port), host: '127.0.0.1' }
  const exchange = groups === undefined ? {} : { ecdhCurve: groups }
  const socket: Socket =
    protocol === 'https'
      ? connectTls({ ...to, ...exchange, servername: HOST, rejectUnauthorized: false })
      : connectTcp(to)
  return new Promise((resolve) => {
    socket.on('error', (error) => fail(error.message))
    socket.on('close', () => fail('the proxy closed an idle connection'))
    socket.on('data', () => resolve())
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  })
}

function fail(reason: string): void {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}
