/** Where keys and tokens must not be found: files, logs, answers. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { claims } from './harness/claims.ts'
import { entryPoint, joinNode, startFleet } from './harness/fleet.ts'
import { TestCa } from './harness/test-ca.ts'

const { it } = claims()

it("a site's private key is in no file, log or answer in the clear, on the control plane and on the node", async (scope) => {
  const ca = await TestCa.create()
  const issued = await ca.issue({ hosts: ['sealed.test'] })
  const websecure = entryPoint('websecure', { protocol: 'https' })
  const fleet = await startFleet(scope, { resources: [entryPoint('web'), websecure] })
  await fleet.publish({ kind: 'certificate', name: 'sealed', source: 'uploaded', ...issued })
  const base64 = issued.privateKeyPem.replaceAll(/-----[^-]+-----|\s/g, '')
  const [line = ''] = issued.privateKeyPem.split('\n').slice(1)
  const needles = [Buffer.from(base64, 'base64'), Buffer.from(base64), Buffer.from(line)]
  const { controlPlane, node } = fleet
  for (const directory of [controlPlane.dataDirectory, node.dataDirectory]) {
    for (const file of await filesIn(directory)) {
      const content = await readFile(file)
      expect(needles.filter((needle) => content.includes(needle)).length, file).toBe(0)
    }
  }
  const paths = ['certificates', 'certificates/sealed', 'versions/2']
  const answers = await Promise.all(paths.map((path) => fleet.api.call('GET', `/api/v1/${path}`)))
  const texts = [scope.logs(), ...answers.map((answer) => answer.text)]
  for (const text of texts) expect(text).not.toContain(line)
})

it('admin token, master key and node identity are readable by their owner alone, and no token is in a log', async (scope) => {
  const fleet = await startFleet(scope)
  const { controlPlane, node } = fleet
  const token = await controlPlane.createJoinToken()
  const second = await joinNode(scope, controlPlane, { name: 'n2', joinToken: token })
  await second.untilReady()
  for (const name of ['admin-token', 'master-key']) {
    const { mode } = await stat(join(controlPlane.dataDirectory, name))
    expect(`${name} ${(mode & 0o777).toString(8)}`).toBe(`${name} 600`)
  }
  for (const file of await filesIn(node.dataDirectory)) {
    expect((await stat(file)).mode & 0o077, file).toBe(0)
  }
  const logs = scope.logs()
  for (const secret of [controlPlane.api.token, token, token.split('.')[1]!]) {
    expect(logs.includes(secret)).toBe(false)
  }
  const secret = token.split('.')[1]!
  for (const file of await filesIn(controlPlane.dataDirectory)) {
    expect((await readFile(file)).includes(secret), file).toBe(false)
  }
})

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
}
