import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiKey } from '../../src/server/index.ts'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { axeFaults } from './axe.ts'
import { openPage, type Scene, useScene } from './scene.ts'

/** A view, and what shows that it has read what it needs. */
type Place = readonly [address: string, ready: string]

/** Every view with something in it. */
async function places(scene: Scene): Promise<readonly Place[]> {
  const id = await scene.send('studio', 'A story about a map of storms that nobody had drawn')
  await scene.send('echo', 'hello')
  // As the server names it, which is not asked about.
  const agent = encodeURIComponent(`${scene.url.replace('127.0.0.1', 'localhost')}/agents/echo`)
  return [
    ['#/', '.inbox article'],
    ['#/chat', '.cards a'],
    ['#/chat/studio', '.conversations a'],
    ['#/teams', '.cards a'],
    ['#/teams/studio', '.node.visited'],
    ['#/tasks', '.task-row'],
    [`#/task/${id}`, '.lane .bar'],
    [`#/task/${id}?zoom=hops`, '.hops > li'],
    [`#/task/${id}?zoom=records`, '.records li'],
    [`#/task/${id}?tab=graph`, '.node.visited'],
    [`#/task/${id}?tab=wire`, '.frames .json'],
    ['#/webhooks', '.empty'],
    ['#/agents', '.cards a'],
    [`#/agents/${agent}`, '.facts'],
    [`#/agents/${encodeURIComponent('https://agent.example/a')}`, '.confirm'],
  ]
}

describe.skipIf(!browserPath)('The page', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  for (const colorScheme of ['light', 'dark'] as const)
    test(`axe finds nothing in any view, ${colorScheme}`, async () => {
      const scene = await useScene()
      const { page, faults } = await openPage(browser, `${scene.url}/console/`, { colorScheme })
      for (const place of await places(scene)) {
        const [address] = place
        await visit(page, scene, place)
        expect(await page.getByRole('heading', { level: 1 }).count(), address).toBe(1)
        expect(await axeFaults(page), address).toEqual([])
      }
      expect(faults).toEqual([])
    })

  test('390 pixels are wide enough for every view', async () => {
    const scene = await useScene()
    const { page, faults } = await openPage(browser, `${scene.url}/console/`, {
      viewport: { width: 390, height: 844 },
    })
    for (const place of await places(scene)) {
      const [address] = place
      await visit(page, scene, place)
      const { scrollWidth } = await page.evaluate(() => ({
        scrollWidth: document.documentElement.scrollWidth,
      }))
      expect(scrollWidth, address).toBeLessThanOrEqual(390)
      expect(await axeFaults(page), address).toEqual([])
    }
    expect(faults).toEqual([])
  })

  test('the keyboard alone asks, reads and answers', async () => {
    const scene = await useScene()
    const { page } = await openPage(browser, `${scene.url}/console/`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await tabTo(page, 'Chat')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Studio')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Studio' }).waitFor()
    await tabTo(page, 'Message')
    await page.keyboard.type('A story')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await tabTo(page, 'Approve', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByText('Published.').waitFor()
    await tabTo(page, 'What happened', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'Timeline' }).waitFor()
    await tabTo(page, 'Timeline')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.locator('.frames').waitFor()
  })

  test('asks for a key where the server wants one, and sends it from then on', async () => {
    const keys = { 'key-of-ann': { userId: 'ann' }, 'key-of-bob': { userId: 'bob' } }
    const auth = { authenticators: [apiKey({ keys })] }
    const scene = await useScene({ auth })
    const { page, faults } = await openPage(browser, `${scene.url}/console/`)
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await signIn(page, 'wrong')
    await page.getByText('These credentials were not accepted.').waitFor()
    await signIn(page, 'key-of-ann')
    await page.getByRole('heading', { level: 1, name: 'Ready for a first question' }).waitFor()
    await page.goto(`${scene.url}/console/#/chat/echo`)
    await page.getByRole('textbox', { name: 'Message' }).fill('a secret of ann')
    await page.keyboard.press('Enter')
    await page.getByText('You said: a secret of ann').waitFor()
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('key-of-ann')
    expect(faults.filter((fault) => !fault.includes('401'))).toEqual([])

    const other = await openPage(browser, `${scene.url}/console/#/tasks`)
    await signIn(other.page, 'key-of-bob')
    await other.page.getByText('No tasks yet.').waitFor()
  })

  test('a browser at the root gets the page, everybody else what they got before', async () => {
    const scene = await useScene()
    const { page } = await openPage(browser, `${scene.url}/`)
    await page.getByRole('heading', { level: 1, name: 'Ready for a first question' }).waitFor()
    const { headers } = await fetch(scene.url)
    expect(headers.get('content-type') ?? '').not.toContain('text/html')
  })

  test('the colours change by a press and stay', async () => {
    const scene = await useScene()
    const { page } = await openPage(browser, `${scene.url}/console/`, { colorScheme: 'light' })
    const ground = (): Promise<string> =>
      page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const light = await ground()
    await page.getByRole('button', { name: 'auto' }).click()
    await page.getByRole('button', { name: 'light' }).click()
    await page.getByRole('button', { name: 'dark' }).waitFor()
    expect(await ground()).not.toBe(light)
    await page.reload()
    await page.getByRole('button', { name: 'dark' }).waitFor()
    expect(await ground()).not.toBe(light)
  })
})

async function visit(page: Page, scene: Scene, [address, ready]: Place): Promise<void> {
  await page.goto(`${scene.url}/console/${address}`)
  await page.locator(ready).first().waitFor()
}

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('X-API-Key').or(page.getByLabel('API key')).first().fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Presses Tab until what bears the name has the focus. */
async function tabTo(page: Page, name: string, key = 'Tab'): Promise<void> {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press(key)
    const focused = await page.evaluate(() => {
      const { activeElement: element } = document
      if (element?.id === 'content') return ''
      return element?.getAttribute('aria-label') ?? element?.textContent ?? ''
    })
    if (focused.includes(name)) return
  }
  throw new Error(`The keyboard does not reach ${name}`)
}
