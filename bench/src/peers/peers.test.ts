/** Each peer that is on this machine, started for real: it answers alone, does equal work and leaves nothing. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Certificate, makeCertificate } from '../certificate.ts'
import { listenersOn } from '../machine/listeners.ts'
import { ORIGIN_BYTES, type Origin, startOrigin } from '../origin/origin.ts'
import { allowedCpus } from '../processor.ts'
import { freePort } from '../programs.ts'
import { findPeers, peerNamed } from './all-peers.ts'
import { probeParity } from './parity-probe.ts'
import type { PeerSetting } from './peer.ts'
import { statusOf } from './ready.ts'
import { linesUnder } from './template.ts'
import { witnessPeer } from './witness.ts'

const HOSTS = ['one.bench.test', 'two.bench.test']
const START_MS = 180_000
const [cpu = 0] = allowedCpus()
const processors = String(cpu)
const onMachine = await findPeers()
const nginxFound = onMachine.find(({ peer }) => peer.name === 'nginx')?.found
const hasNginx = nginxFound?.kind === 'found'
const hasOpenssl = existsSync('/usr/bin/openssl')
const reason = hasNginx && hasOpenssl ? '' : ' (skipped: needs nginx and openssl)'

describe.skipIf(reason !== '')(`peers${reason}`, () => {
  let folder = ''
  let certificate: Certificate
  let origin: Origin

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-bench-peers-'))
    certificate = await makeCertificate(folder, HOSTS)
    origin = await startOrigin({ folder: join(folder, 'origin'), processors, listeners: 2 })
  }, START_MS)

  afterAll(async () => {
    await origin.stop()
    await rm(folder, { recursive: true, force: true })
  }, START_MS)

  async function settingFor(name: string): Promise<PeerSetting> {
    return {
      folder: join(folder, name),
      port: await freePort(),
      tlsPort: await freePort(),
      origins: origin.addresses,
      certificateFile: certificate.chainFile,
      keyFile: certificate.keyFile,
      processors,
      hosts: HOSTS,
    }
  }

  it.each([
    ['/', ORIGIN_BYTES['/']],
    ['/1k', ORIGIN_BYTES['/1k']],
    ['/10k', ORIGIN_BYTES['/10k']],
    ['/64k', ORIGIN_BYTES['/64k']],
    ['/api/v1/nested/path?with=query', ORIGIN_BYTES.other],
  ])('the origin answers %s with %d bytes on both ports', async (path, bytes) => {
    for (const address of origin.addresses) {
      const answer = await fetch(`http://${address}${path}`)
      expect(answer.status).toBe(200)
      expect((await answer.arrayBuffer()).byteLength).toBe(bytes)
    }
  })

  it('the origin takes a body, and counts requests and connections without its own readings', async () => {
    const [port = 0] = origin.addresses.map((address) => Number(address.split(':')[1]))
    const before = await origin.counts()
    const body = JSON.stringify({ value: 'x'.repeat(2_000) })
    const posted = await fetch(`http://127.0.0.1:${port}/sweep`, { method: 'POST', body })
    expect(posted.status).toBe(200)
    await posted.arrayBuffer()
    await statusOf('http', port, 'localhost')
    await statusOf('http', port, 'localhost')
    const after = await origin.counts()
    expect(after.requests - before.requests).toBe(3)
    // The post may have come by a connection that was there.
    expect([2, 3]).toContain(after.connections - before.connections)
  })

  for (const { peer, found } of onMachine) {
    const missing = found.kind === 'missing' ? ` (skipped: ${found.reason})` : ''
    it.skipIf(missing !== '')(
      `${peer.name} answers for its hosts alone, asks both origins and leaves its ports free${missing}`,
      async () => {
        const setting = await settingFor(peer.name)
        const running = await peer.start(setting)
        try {
          expect(await running.witness()).toEqual([])
          expect(running.requestProcesses().length).toBeGreaterThan(0)
          const before = await origin.counts()
          for (const host of HOSTS) {
            expect(await statusOf('http', setting.port, host, '/64k')).toBe(200)
            expect(await statusOf('https', setting.tlsPort, host, '/10k')).toBe(200)
          }
          expect((await origin.counts()).requests - before.requests).toBe(4)
          const foreign = await statusOf('http', setting.port, 'foreign.test')
          expect(foreign).toBeGreaterThanOrEqual(404)
          await expect(peer.start(setting)).rejects.toThrow(`port ${setting.port} is taken`)
        } finally {
          await running.stop()
        }
        expect(running.processes()).toEqual([])
        expect(listenersOn(setting.port)).toEqual([])
        expect(listenersOn(setting.tlsPort)).toEqual([])
      },
      START_MS,
    )
  }

  for (const name of ['nginx', 'haproxy', 'caddy', 'envoy', 'traefik', 'aralez', 'pingora']) {
    const found = onMachine.find(({ peer }) => peer.name === name)?.found
    const missing = found?.kind === 'found' ? '' : ' (skipped: not installed)'
    it.skipIf(missing !== '')(
      `${name} answers with its own defaults alone, too${missing}`,
      async () => {
        const peer = peerNamed(name)
        expect(linesUnder(await readFile(peer.configurationFile, 'utf8'), 'tuned')).not.toEqual([])
        const setting = { ...(await settingFor(`${name}-stock`)), isStock: true }
        const running = await peer.start(setting)
        try {
          expect(await statusOf('http', setting.port, HOSTS[0] ?? '')).toBe(200)
          expect(await statusOf('https', setting.tlsPort, HOSTS[1] ?? '')).toBe(200)
        } finally {
          await running.stop()
        }
      },
      START_MS,
    )
  }

  it('a listener of somebody else, a second one and none at all are told apart', async () => {
    const setting = await settingFor('witness')
    const server = createServer().listen(setting.port, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    try {
      const executable = '/no/such/program'
      const wrong = witnessPeer('it', setting, { pids: [process.ppid], executable })
      const text = wrong.join('\n')
      expect(text).toContain(`not ${executable}`)
      expect(text).toContain(`port ${setting.port} belongs to a process that is not of its tree`)
      expect(text).toContain(`nobody listens on port ${setting.tlsPort}`)
    } finally {
      server.close()
    }
  })

  it(
    'parity: nginx passes what came, adds what it must, and differs from itself in nothing',
    async () => {
      const names = ['nginx', 'haproxy', 'self']
      const peers = names.map(peerNamed)
      const records = await probeParity(
        peers,
        {
          folder: join(folder, 'parity'),
          processors,
          certificateFile: certificate.chainFile,
          keyFile: certificate.keyFile,
          hosts: HOSTS,
          idleMs: 500,
        },
        'nginx',
      )
      const found = onMachine.filter(
        (one) => names.includes(one.peer.name) && one.found.kind === 'found',
      )
      expect(records).toHaveLength(found.length)
      const nginx = records.find((record) => record.peer === 'nginx')
      expect(nginx).toMatchObject({
        differences: [],
        idle: { requests: 0 },
        reuse: { requests: 1_000, originRequests: 1_000 },
        logLinesPerRequest: 1,
        backlog: { http: 4_096, https: 4_096 },
        tls: { version: 'TLSv1.3', isResumed: true, protocol: 'http/1.1' },
      })
      expect(nginx?.reuse.connections).toBeLessThanOrEqual(20)
      const source = await readFile(peerNamed('nginx').configurationFile)
      const sha256 = createHash('sha256').update(source).digest('hex')
      expect(nginx?.configuration).toEqual([{ file: 'nginx.conf.template', sha256 }])
      for (const record of records) {
        expect(record.tls.fingerprint).toBe(nginx?.tls.fingerprint)
        expect(record.reuse.originRequests).toBe(1_000)
        expect(record.exchanges.https.answer).toMatchObject({ status: 200, bodyBytes: 1_024 })
      }
    },
    2 * START_MS,
  )
})
