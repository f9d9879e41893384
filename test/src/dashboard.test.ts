/** The dashboard in a real browser, with real nodes and real traffic. */
import { createServer } from 'node:net'
import type { Browser } from 'playwright-core'
import { describe, expect } from 'vitest'
import {
  CHROMIUM,
  DashboardPage,
  DESKTOP,
  type Look,
  launchBrowser,
  PHONE,
  whyNoBrowser,
} from './harness/browser.ts'
import { claims } from './harness/claims.ts'
import { DataPlaneNode } from './harness/data-plane-node.ts'
import { eventually } from './harness/eventually.ts'
import { entryPoint, type Fleet, startFleet } from './harness/fleet.ts'
import { startLoad } from './harness/load/start-load.ts'
import { startEchoOrigin } from './harness/origins/start-echo-origin.ts'
import { freePort } from './harness/ports.ts'
import type { Scope } from './harness/scope.ts'

const SHOWN_MS = 40_000
const desktop: Look = { viewport: DESKTOP }
const looks = [
  ['desktop', 'light', DESKTOP],
  ['desktop', 'dark', DESKTOP],
  ['phone', 'light', PHONE],
] as const
const pages = [
  ['/', 'Overview'],
  ['/nodes', 'Nodes'],
  ['/nodes/n1', 'n1'],
  ['/nodes/add', 'Add a node'],
  ['/routers', 'Routers'],
  ['/routers/new', 'New router'],
  ['/services', 'Services'],
  ['/services/new', 'New service'],
  ['/certificates', 'Certificates'],
  ['/certificates/new', 'New certificate'],
  ['/entry-points', 'Entry points'],
  ['/entry-points/web', 'web'],
  ['/explain', 'Explain a request'],
  ['/versions', 'Versions'],
  ['/versions/1', 'Version 1'],
  ['/logs', 'Logs'],
  ['/settings', 'Settings'],
] as const

describe.skipIf(CHROMIUM === undefined)(`the dashboard in Chromium${whyNoBrowser}`, () => {
  const { it, suite, before } = claims()
  let fleet: Fleet
  let browser: Browser

  before(async () => {
    fleet = await startFleet(suite)
    browser = await launchBrowser(suite)
  })

  async function signedIn(scope: Scope, look = desktop): Promise<DashboardPage> {
    const { adminUrl, api } = fleet.controlPlane
    const opened = await DashboardPage.open(scope, browser, adminUrl, look)
    await opened.signIn(api.token)
    return opened
  }

  it('a wrong token is refused, the right one opens the overview, and signing out closes it', async (scope) => {
    const { adminUrl, api } = fleet.controlPlane
    const dashboard = await DashboardPage.open(scope, browser, adminUrl, desktop)
    const { page } = dashboard
    await page.goto(adminUrl)
    await page.getByRole('button', { name: 'Use the admin token' }).click()
    await page.getByLabel('Admin token').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('that is not the admin token').waitFor()
    await dashboard.shoot('sign-in')
    expect(await dashboard.accessibilityFaults()).toEqual([])
    await dashboard.signIn(api.token)
    await dashboard.goTo('/settings', 'Settings')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Password').waitFor()
    expect(dashboard.faults).toEqual([])
  })

  it('a user signs in by name and password, and is offered what the role may do', async (scope) => {
    const { adminUrl, api } = fleet.controlPlane
    const password = 'correct horse battery'
    await api.post('/api/v1/users', { name: 'vera', role: 'viewer', password })
    const dashboard = await DashboardPage.open(scope, browser, adminUrl, desktop)
    const { page } = dashboard
    await page.goto(adminUrl)
    await page.getByLabel('Name').fill('vera')
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('name or password is wrong').waitFor()
    expect(await dashboard.accessibilityFaults()).toEqual([])
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    await dashboard.goTo('/settings', 'Settings')
    await page.getByText('Signed in as vera (viewer)').waitFor()
    expect(await page.getByRole('button', { name: 'Publish' }).count()).toBe(0)
    await dashboard.goTo('/nodes', 'Nodes')
    expect(await page.getByRole('link', { name: 'Add a node' }).count()).toBe(0)
    await api.call('PATCH', '/api/v1/users/vera', { body: { role: 'admin' } })
    await dashboard.goTo('/nodes', 'Nodes')
    await page.getByRole('link', { name: 'Add a node' }).waitFor()
    await api.delete('/api/v1/users/vera')
    await page.reload()
    await page.getByLabel('Password').waitFor()
    expect(dashboard.faults).toEqual([])
  })

  it(
    'a service, a router and a certificate that are added by forms carry traffic, which the charts show',
    async (scope) => {
      const origin = await startEchoOrigin(scope, 'echo')
      const dashboard = await signedIn(scope)
      const { page } = dashboard
      await dashboard.goTo('/services/new', 'New service')
      await page.getByLabel('Name').fill('shop')
      await page.getByLabel('URL').fill(`http://127.0.0.1:${origin}`)
      await page.getByRole('button', { name: 'Publish' }).click()
      await page.getByRole('link', { name: 'shop' }).waitFor()

      await dashboard.goTo('/routers/new', 'New router')
      await page.getByLabel('Name').fill('shop')
      await page.getByLabel('Hosts').fill('shop.test')
      await page.getByLabel('Service').fill('nowhere')
      await page.getByRole('button', { name: 'Publish' }).click()
      await page.locator('.field .problem').first().waitFor()
      expect(await page.getByLabel('Service').getAttribute('aria-invalid')).toBe('true')
      await dashboard.shoot('field-error')
      await page.getByLabel('Service').fill('shop')
      await page.getByRole('button', { name: 'Publish' }).click()
      await page.getByRole('link', { name: 'shop' }).waitFor()

      await dashboard.goTo('/certificates/new', 'New certificate')
      await page.getByLabel('Source').selectOption('internal')
      await page.getByLabel('Name').fill('shop')
      await page.getByLabel('Hosts').fill('shop.test')
      await page.getByRole('button', { name: 'Publish' }).click()
      await page.getByRole('link', { name: 'shop' }).waitFor()

      await fleet.untilInSync()
      await dashboard.goTo('/', 'Overview')
      const load = startLoad(scope, {
        port: fleet.node.port(),
        host: 'shop.test',
        connections: 4,
        work: 'small',
        path: '/x',
        expected: 'echo /x',
        requestsMax: 3_000,
        requestsPerSecondMax: 300,
      })
      const shown = page.getByRole('figure', { name: 'Requests per second', exact: true })
      await eventually(
        async () => /all [1-9][\d.]* (k )?req\/s/.test((await shown.textContent()) ?? ''),
        {
          withinMs: SHOWN_MS,
          that: 'requests on the chart',
        },
      )
      expect((await load.result()).failures).toEqual([])
      await dashboard.shoot('overview-traffic')
      await dashboard.goTo('/logs', 'Logs')
      await page.getByText('shop.test/x').first().waitFor()
      await dashboard.shoot('logs-lines')
      expect(dashboard.faults).toEqual([])
    },
    { withinMs: 120_000 },
  )

  it('a version that the node refuses is shown with its reason, and rolled back', async (scope) => {
    const taken = createServer().listen(0, '127.0.0.1')
    scope.defer(() => taken.close())
    const { port } = await new Promise<{ port: number }>((resolve) =>
      taken.once('listening', () => resolve(taken.address() as { port: number })),
    )
    const { version: good } = await fleet.nodeView()
    const dashboard = await signedIn(scope)
    const { page } = dashboard
    await dashboard.goTo('/nodes/n1', 'n1')
    await fleet.api.apply(entryPoint('busy', { address: `127.0.0.1:${port}` }))
    await page.getByText('This node refused').waitFor()
    await page.getByText('entry-point/busy').waitFor()
    await dashboard.shoot('node-rejected')
    await dashboard.goTo(`/versions/${good}`, `Version ${good}`)
    await page.getByRole('button', { name: 'Roll back to this' }).click()
    await page.getByRole('button', { name: `Publish version ${good} again` }).click()
    await page.getByText(`roll back to version ${good}`).waitFor()
    await fleet.untilInSync()
    await dashboard.goTo('/nodes/n1', 'n1')
    await page.getByText('in-sync').first().waitFor()
    expect(dashboard.faults).toEqual([])
  })

  it('the command for a new node joins it, and its page opens by itself', async (scope) => {
    const dashboard = await signedIn(scope)
    const { page } = dashboard
    await dashboard.goTo('/nodes/add', 'Add a node')
    await page.getByLabel('Name of the node').fill('joined')
    await page.getByRole('button', { name: 'Make the command' }).click()
    const command = (await page.locator('pre').textContent()) ?? ''
    const [, token = ''] = /SLUICE_JOIN_TOKEN=(\S+) sluice-node run /.exec(command) ?? []
    expect(command).toContain('--name joined')
    await dashboard.shoot('add-node')
    const node = await DataPlaneNode.start(scope, {
      controlPlane: fleet.controlPlane.fleetAddress,
      joinToken: token,
      name: 'joined',
      ports: { web: await freePort() },
    })
    await node.untilReady()
    await page.getByRole('heading', { level: 1, name: 'joined' }).waitFor()
    await page.getByRole('button', { name: 'Drain' }).click()
    await page.getByRole('button', { name: 'End draining' }).waitFor()
    await page.getByText('draining', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke joined' }).click()
    await page.getByText('revoked', { exact: true }).first().waitFor()
    expect(dashboard.faults).toEqual([])
  })

  it(
    '10,000 routers are searched, with few of them in the page',
    async (scope) => {
      const dashboard = await signedIn(scope)
      const { page } = dashboard
      const target = { kind: 'service', name: 'many', servers: [{ url: 'http://127.0.0.1:9' }] }
      const routers = Array.from({ length: 10_000 }, (_, index) => ({
        kind: 'router',
        name: `many-${index}`,
        match: { hosts: [`h${index}.many.test`] },
        service: 'many',
      }))
      await fleet.api.apply(target, ...routers)
      await dashboard.goTo('/routers', 'Routers')
      await page.getByText('10,00').first().waitFor()
      await page.getByLabel('Search routers').fill('h9876.many')
      await page.getByRole('link', { name: 'many-9876' }).waitFor()
      await page.getByText(/^1 of 10,0/).waitFor()
      await page.getByLabel('Search routers').fill('')
      await page.getByText(/^10,00\d of 10,00\d/).waitFor()
      expect(await page.locator('.list .item').count()).toBeLessThan(100)
      await dashboard.shoot('routers-10000')
      expect(dashboard.faults).toEqual([])
    },
    { withinMs: 120_000 },
  )

  for (const [size, scheme, viewport] of looks) {
    it(
      `every page fits a ${size} in ${scheme} colours and keeps WCAG AA`,
      async (scope) => {
        const dashboard = await signedIn(scope, { viewport, scheme })
        const faults: Record<string, unknown> = {}
        for (const [path, heading] of pages) {
          await dashboard.goTo(path, heading)
          await dashboard.page.waitForFunction(`!document.body.textContent.includes('Loading …')`)
          await dashboard.shoot(`${size}-${scheme}-${heading.replaceAll(' ', '-').toLowerCase()}`)
          const found = await dashboard.accessibilityFaults()
          const overflow = await dashboard.overflow()
          if (found.length > 0 || overflow > 0) faults[path] = { found, overflow }
        }
        expect(faults).toEqual({})
        expect(dashboard.faults).toEqual([])
      },
      { withinMs: 180_000 },
    )
  }
})
