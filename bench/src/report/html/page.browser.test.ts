/// <reference lib="dom" />
/** The page in a real browser: every chart drawn, nothing asked for, nothing wider than a phone. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { summarise } from '../../summary/summarise.ts'
import {
  sampleArtifacts,
  sampleRamp,
  sampleRampRows,
  sampleSweep,
} from '../../testing/sample-artifacts.ts'
import { renderPage } from './page.ts'

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const executablePath = CANDIDATES.find((file) => existsSync(file))
const reason =
  executablePath === undefined ? ' (skipped: no chromium; apt-get install chromium)' : ''
const LAUNCH_MS = 60_000

const steadyRows = sampleRampRows(50_000, { seconds: 20, most: 5_000 })
const pages = [
  [
    'dnz',
    sampleArtifacts({
      series: [{ proxy: 'self', scenario: 'steady', round: 0, role: 'measured', rows: steadyRows }],
    }),
    9,
  ],
  ['ramp', sampleRamp(), 11],
  ['sweep', sampleSweep(), 6],
] as const

const looks = [
  [1280, 'light'],
  [1280, 'dark'],
  [400, 'light'],
  [400, 'dark'],
] as const

describe.skipIf(executablePath === undefined)(`the page in Chromium${reason}`, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await chromium.launch({
      ...(executablePath === undefined ? {} : { executablePath }),
      args: ['--no-sandbox', '--disable-gpu'],
      timeout: LAUNCH_MS,
    })
  }, LAUNCH_MS)

  afterAll(async () => {
    await browser.close()
  })

  it.each(
    pages.flatMap(([name, artifacts, least]) =>
      looks.map(([width, scheme]) => [name, width, scheme, artifacts, least] as const),
    ),
  )(
    '%s at %i px, %s: all charts are drawn within their frame, without a request or an error',
    async (_name, width, scheme, artifacts, least) => {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme })
      const errors: string[] = []
      const requests: string[] = []
      page.on('console', (message) => errors.push(message.text()))
      page.on('pageerror', (error) => errors.push(error.message))
      page.on('request', (request) => {
        if (!request.url().startsWith('data:')) requests.push(request.url())
      })
      await page.setContent(renderPage(summarise(artifacts)))
      const seen = await page.evaluate(() => {
        const charts = [...document.querySelectorAll<SVGSVGElement>('svg[data-chart]')].map(
          (svg) => {
            const { width: across, height: up } = svg.viewBox.baseVal
            const marks = [
              ...svg.querySelectorAll<SVGGraphicsElement>('.line, .bar, .dot, .range'),
            ].map((mark) => mark.getBBox())
            const isWithin = marks.every(
              ({ x, y, width: w, height: h }) =>
                x >= -1 && y >= -1 && x + w <= across + 1 && y + h <= up + 1,
            )
            const text = svg.querySelector('.tick')
            const scale = svg.getBoundingClientRect().width / across
            const pixels =
              text === null ? 0 : Number.parseFloat(getComputedStyle(text).fontSize) * scale
            return { id: svg.dataset.chart ?? '', marks: marks.length, isWithin, pixels }
          },
        )
        return {
          charts,
          width: document.documentElement.scrollWidth,
          paper: getComputedStyle(document.body).backgroundColor,
        }
      })
      expect(seen.charts.length).toBeGreaterThanOrEqual(least)
      expect(seen.charts.filter(({ marks, isWithin }) => marks === 0 || !isWithin)).toEqual([])
      expect(seen.charts.filter(({ pixels }) => pixels < 9)).toEqual([])
      expect(seen.width).toBeLessThanOrEqual(width)
      expect(seen.paper).toBe(scheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(17, 22, 28)')
      expect([errors, requests]).toEqual([[], []])
      await page.close()
    },
    LAUNCH_MS,
  )

  it(
    'says the values under the pointer',
    async () => {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
      await page.setContent(renderPage(summarise(sampleRamp())))
      await page.locator('#ramp-rps .capture').hover()
      await expect(page.locator('#ramp-rps .tip').textContent()).resolves.toMatch(
        /offered load.*nginx: /,
      )
      await page.close()
    },
    LAUNCH_MS,
  )

  it(
    'is read without scripts',
    async () => {
      const context = await browser.newContext({ javaScriptEnabled: false })
      const page = await context.newPage()
      await page.setContent(renderPage(summarise(sampleArtifacts())))
      await expect(page.locator('svg[data-chart]').count()).resolves.toBeGreaterThanOrEqual(9)
      await context.close()
    },
    LAUNCH_MS,
  )
})
