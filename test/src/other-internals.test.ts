/** A node on a Node whose internals are not the ones that its transports know: slower, and all the same. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { CaseScene } from './harness/case-scene.ts'
import { claims } from './harness/claims.ts'
import { freePort } from './harness/ports.ts'
import { RawClient } from './harness/raw-client.ts'
import type { Scope } from './harness/scope.ts'
import { TestCa } from './harness/test-ca.ts'

const { it, suite, before } = claims()
const BODY = 'x'.repeat(100_000)
const REQUEST = `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
let scene: CaseScene
let securePort: number

before(async () => {
  const folder = await suite.temporaryDirectory()
  const file = join(folder, 'without-internals.cjs')
  await writeFile(file, 'process.binding = undefined\n')
  const ca = await TestCa.create()
  const issued = await ca.issue({ hosts: ['a.test'] })
  securePort = await freePort()
  const address = `127.0.0.1:${securePort}`
  scene = await CaseScene.start(suite, {
    environment: { NODE_OPTIONS: `--require ${file}` },
    documents: () => [
      { kind: 'entry-point', name: 'web-tls', address, protocol: 'https' },
      { kind: 'certificate', name: 'a', source: 'uploaded', ...issued },
    ],
  })
  scene.origin.answer = ({ connection }) => connection.socket.write(ANSWER)
})

const tls = { servername: 'a.test', rejectUnauthorized: false }

for (const place of ['HTTP', 'HTTPS']) {
  it(`forwards requests and answers with bodies over ${place}`, async (scope: Scope) => {
    const client = await (place === 'HTTP'
      ? RawClient.open(scope, scene.port)
      : RawClient.open(scope, securePort, { tls }))
    for (let turn = 0; turn < 3; turn += 1) {
      client.send(REQUEST)
      const { startLine, body } = await client.answer()
      expect([startLine, body.length]).toEqual(['HTTP/1.1 200 OK', BODY.length])
    }
    client.close()
  })
}
