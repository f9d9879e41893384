import { afterEach, beforeEach, expect, it } from 'vitest'
import { DnsServer } from '../testing/dns-server.ts'
import { NodeFixture, request, webAddress } from './node.fixture.ts'
import { entryPoint, fullUpdate, router, service } from './resources.fixture.ts'
import { waitFor } from './wait-for.fixture.ts'

let node: NodeFixture
let dns: DnsServer

beforeEach(async () => {
  node = await NodeFixture.make()
  dns = await DnsServer.start()
})

afterEach(async () => {
  await node.stop()
  dns.stop()
})

it('asks the DNS servers of its flag for names of servers, and logs and counts what it is not told', async () => {
  const { port } = new URL(node.originUrl)
  node.controlPlane.update = fullUpdate(1n, [
    entryPoint('web', '127.0.0.1:0'),
    router('r', 's'),
    service('s', `http://svc.test:${port}`),
  ])
  const supervisor = await node.start({ dnsServers: [dns.address] })
  await node.controlPlane.take('applied')
  const hasLogged = (text: string) =>
    node.log.some((line) => line.includes(text) && line.includes('"name":"svc.test"'))
  await waitFor(() => hasLogged('a name of a server is not known'), 'a warning')
  const address = await webAddress(supervisor)
  expect(await request(address)).toMatch(/^503 /)
  const metrics = async () => (await fetch(`http://${supervisor.statusAddress}/metrics`)).text()
  await waitFor(
    async () => (await metrics()).includes('sluice_node_names_failing 1\n'),
    'the count',
  )
  dns.zones.set('svc.test', { addresses: ['127.0.0.1'] })
  await waitFor(() => hasLogged('a name is known again'), 'the end of it')
  expect(await request(address)).toMatch(/^200 /)
})
