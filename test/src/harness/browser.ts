/** Chromium with pages of the dashboard, and what every page has to keep. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import axe, { type AxeResults } from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Scope } from './scope.ts'

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const LAUNCH_MS = 60_000
/** A busy machine can take its time. */
const WAIT_MS = 20_000

export const CHROMIUM = CANDIDATES.find((file) => existsSync(file))
export const whyNoBrowser =
  CHROMIUM === undefined ? ' (skipped: no chromium; apt-get install chromium)' : ''

export const DESKTOP = { width: 1280, height: 900 } as const
export const PHONE = { width: 360, height: 740 } as const

export interface Look {
  readonly viewport: { readonly width: number; readonly height: number }
  readonly scheme?: 'light' | 'dark'
}

export async function launchBrowser(scope: Scope): Promise<Browser> {
  const browser = await chromium.launch({
    ...(CHROMIUM === undefined ? {} : { executablePath: CHROMIUM }),
    args: ['--no-sandbox', '--disable-gpu'],
    timeout: LAUNCH_MS,
  })
  scope.defer(() => browser.close())
  return browser
}

/** A page that notes what it must never do: fail, or ask another host for anything. */
export class DashboardPage {
  readonly page: Page
  readonly origin: string
  readonly faults: string[] = []

  private constructor(page: Page, origin: string) {
    this.page = page
    this.origin = origin
  }

  static async open(
    scope: Scope,
    browser: Browser,
    origin: string,
    { viewport, scheme = 'light' }: Look,
  ): Promise<DashboardPage> {
    const context = await browser.newContext({ viewport, colorScheme: scheme })
    scope.defer(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(WAIT_MS)
    const opened = new DashboardPage(page, origin)
    page.on('pageerror', (error) => opened.faults.push(error.message))
    page.on('console', (message) => {
      // Chromium notes each answer above 399 as an error; what it means is for the test to say.
      const isAnswer = message.text().startsWith('Failed to load resource')
      if (message.type() === 'error' && !isAnswer) opened.faults.push(message.text())
    })
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(origin) && !url.startsWith('data:'))
        opened.faults.push(`asked for ${url}`)
    })
    return opened
  }

  async signIn(token: string): Promise<void> {
    await this.page.goto(this.origin)
    await this.page.getByRole('button', { name: 'Use the admin token' }).click()
    await this.page.getByLabel('Admin token').fill(token)
    await this.page.getByRole('button', { name: 'Sign in' }).click()
    await this.page.getByRole('navigation', { name: 'Pages' }).waitFor()
  }

  async goTo(path: string, heading: string): Promise<void> {
    await this.page.goto(`${this.origin}${path}`)
    await this.page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
  }

  /** How much wider the page is than the window. */
  overflow(): Promise<number> {
    return this.page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')
  }

  /** Every rule of WCAG A and AA that the page breaks, with where. */
  async accessibilityFaults(): Promise<readonly string[]> {
    await this.page.evaluate(axe.source)
    const { violations } = await this.page.evaluate<AxeResults>(
      `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] })`,
    )
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
  }

  /** Kept for people to look at, where SLUICE_SHOTS names a folder. */
  async shoot(name: string): Promise<void> {
    const folder = process.env.SLUICE_SHOTS
    if (folder === undefined) return
    await mkdir(folder, { recursive: true })
    await this.page.screenshot({ path: join(folder, `${name}.png`) })
  }
}
