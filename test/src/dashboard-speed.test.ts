/**
 * How quick the dashboard is. The bounds hold on a quiet machine, so they are asked for by
 * SLUICE_QUIET=1; elsewhere the figures are printed and only that everything is drawn is held.
 */
import { stdout } from 'node:process'
import type { Browser } from 'playwright-core'
import { describe, expect } from 'vitest'
import { CHROMIUM, DashboardPage, DESKTOP, launchBrowser, whyNoBrowser } from './harness/browser.ts'
import { claims } from './harness/claims.ts'
import { type Fleet, startFleet } from './harness/fleet.ts'

const isQuiet = process.env.SLUICE_QUIET === '1'
const INTERACTIVE_MS = 1_500
const DRAWN_MS = 100
const NODES = 50
const MINUTES = 1_440

describe.skipIf(CHROMIUM === undefined)(`the dashboard's speed${whyNoBrowser}`, () => {
  const { it, suite, before } = claims()
  let fleet: Fleet
  let browser: Browser

  before(async () => {
    fleet = await startFleet(suite)
    browser = await launchBrowser(suite)
  })

  it('the overview can be used within 1.5 s on a CPU that is slowed down four times', async (scope) => {
    const { adminUrl, api } = fleet.controlPlane
    const dashboard = await DashboardPage.open(scope, browser, adminUrl, { viewport: DESKTOP })
    await dashboard.signIn(api.token)
    const { page } = dashboard
    const devTools = await page.context().newCDPSession(page)
    await devTools.send('Emulation.setCPUThrottlingRate', { rate: 4 })
    await devTools.send('Network.setCacheDisabled', { cacheDisabled: true })
    await page.goto(adminUrl, { waitUntil: 'commit' })
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const interactiveMs = await page.evaluate<number>('performance.now()')
    stdout.write(`interactive after ${interactiveMs.toFixed(0)} ms at a quarter of the CPU\n`)
    if (isQuiet) expect(interactiveMs).toBeLessThanOrEqual(INTERACTIVE_MS)
  })

  it('a day of minutes of 50 nodes is drawn within 100 ms', async (scope) => {
    const { adminUrl, api } = fleet.controlPlane
    const dashboard = await DashboardPage.open(scope, browser, adminUrl, { viewport: DESKTOP })
    const { page } = dashboard
    await dashboard.signIn(api.token)
    await page.getByText('No request came in this time.').waitFor()
    // The numbers of a fleet that nobody has here; everything else is real.
    const [fleetBody = '', nodesBody = ''] = dayOfTraffic().map((one) => JSON.stringify(one))
    await page.route('**/api/v1/analytics/columns?**', (route) => {
      const isByNode = route.request().url().includes('by=node')
      return route.fulfill({
        body: isByNode ? nodesBody : fleetBody,
        contentType: 'application/json',
      })
    })
    const devTools = await page.context().newCDPSession(page)
    await devTools.send('Performance.enable')
    const before = await busySeconds(devTools)
    await page.getByLabel('Time span').selectOption('1 day')
    // Charts out of sight are drawn when they come into sight.
    await page
      .getByRole('figure')
      .nth(NODES + 3)
      .waitFor({ state: 'attached' })
    await page.locator('.chart canvas').nth(3).waitFor()
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')
    const drawnMs = ((await busySeconds(devTools)) - before) * 1_000
    stdout.write(`${NODES * MINUTES} points drawn with ${drawnMs.toFixed(0)} ms of main thread\n`)
    if (isQuiet) expect(drawnMs).toBeLessThanOrEqual(DRAWN_MS)
    const below = page.getByRole('figure', { name: 'Requests per second of node-49' })
    await below.scrollIntoViewIfNeeded()
    await below.locator('canvas').waitFor()
    await dashboard.shoot('overview-50-nodes')
  })
})

interface DevTools {
  send(method: 'Performance.getMetrics'): Promise<{ metrics: { name: string; value: number }[] }>
}

/** What scripts and layout of the page have taken since it was opened. */
async function busySeconds(devTools: DevTools): Promise<number> {
  const { metrics } = await devTools.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0
}

/** Of the fleet and by node, as GET /analytics/columns answers. */
function dayOfTraffic() {
  const stepMs = 60_000
  const toMs = Math.floor(Date.now() / stepMs) * stepMs
  const range = {
    from: new Date(toMs - MINUTES * stepMs).toISOString(),
    to: new Date(toMs).toISOString(),
    stepMs,
  }
  const minutes = (value: (minute: number) => number) =>
    Array.from({ length: MINUTES }, (_, minute) => value(minute))
  const requestsOf = (node: number) =>
    minutes((minute) => 6_000 + Math.round(3_000 * Math.sin(minute / 200 + node)))
  const requests = requestsOf(0)
  const columns = {
    requests,
    errors: minutes((minute) => minute % 7),
    bytesIn: requests.map((count) => count * 300),
    bytesOut: requests.map((count) => count * 2_000),
    p50Ms: minutes((minute) => 1.5 + (minute % 10) / 100),
    p99Ms: minutes((minute) => 12 + (minute % 50) / 10),
  }
  const series = Array.from({ length: NODES }, (_, node) => ({
    key: { node: `node-${node}` },
    columns: { requests: requestsOf(node) },
  }))
  return [
    { ...range, series: [{ key: {}, columns }] },
    { ...range, series },
  ]
}
