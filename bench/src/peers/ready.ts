/** A peer is ready when it has answered a real request through itself, on each of its two ports. */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { PeerSetting } from './peer.ts'

/** The origin has it, whichever origin that is. */
const PATH = '/1k'
const ANSWER_MS = 5_000

export async function isAnswering(setting: PeerSetting): Promise<boolean> {
  const [host = 'localhost'] = setting.hosts
  return (
    (await statusOf('http', setting.port, host)) === 200 &&
    (await statusOf('https', setting.tlsPort, host)) === 200
  )
}

/** A connection of its own, which is closed after the answer. */
export function statusOf(
  protocol: 'http' | 'https',
  port: number,
  host: string,
  path: string = PATH,
): Promise<number> {
  const to = {
    host: '127.0.0.1',
    port,
    path,
    headers: { Host: host },
    agent: false as const,
    timeout: ANSWER_MS,
  }
  return new Promise((resolve, reject) => {
    const sent =
      protocol === 'http'
        ? httpRequest(to)
        : // The certificate is the run's own, signed by nobody.
          httpsRequest({ ...to, servername: host, rejectUnauthorized: false })
    sent.on('timeout', () => sent.destroy(new Error(`no answer within ${ANSWER_MS} ms`)))
    sent.on('error', reject)
    sent.on('response', (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
      answer.on('error', reject)
    })
    sent.end()
  })
}
