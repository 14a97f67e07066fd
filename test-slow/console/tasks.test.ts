import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openSqliteStore, type Store } from '../../src/store/index.ts'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { openPage, useScene } from './scene.ts'

describe.skipIf(!browserPath)('Tasks', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('a hundred thousand tasks are read by pages, and at most sixty rows are drawn', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corral-console-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const store = await openSqliteStore(join(folder, 'tasks.db'))
    onTestFinished(() => store.close())
    await seed(store, 100_000)
    const scene = await useScene({ store })
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/tasks`, {
      viewport: { width: 1280, height: 2_400 },
    })
    const pages: URL[] = []
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.pathname === '/console/api/tasks') pages.push(url)
    })
    const rows = page.locator('.task-row')
    await page.getByText('Question 99999', { exact: true }).waitFor()
    expect(await rows.count()).toBeLessThanOrEqual(60)
    for (let i = 0; i < 5; i++) {
      const nextPage = page.waitForResponse((response) => response.url().includes('cursor='))
      await page.locator('.task-scroll').evaluate((frame) => frame.scrollTo(0, frame.scrollHeight))
      await nextPage
      expect(await rows.count()).toBeLessThanOrEqual(60)
    }
    await page.locator('.task-scroll').evaluate((frame) => frame.scrollTo(0, 46 * 400))
    await page.getByText('Question 99599', { exact: true }).waitFor()
    expect(await rows.count()).toBeLessThanOrEqual(60)
    expect(pages.filter((url) => url.searchParams.has('cursor')).length).toBeGreaterThanOrEqual(5)
    expect(pages.filter((url) => !url.searchParams.has('cursor')).length).toBeLessThanOrEqual(1)
    expect(faults).toEqual([])
  })

  test('filters stand in the address and narrow the list', async () => {
    const scene = await useScene()
    await scene.send('echo', 'hello one')
    await scene.send('studio', 'a story')
    const { page } = await openPage(browser, `${scene.url}/console/#/tasks`)
    await page.getByText('hello one').waitFor()
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('studio')
    await page.getByText('hello one').waitFor({ state: 'detached' })
    await page.getByText('a story').waitFor()
    expect(page.url()).toContain('agent=studio')
    await page.getByRole('combobox', { name: 'State' }).selectOption('TASK_STATE_FAILED')
    await page.getByText('No task is like this.').waitFor()
    expect(page.url()).toContain('state=TASK_STATE_FAILED')
    await page.goto(`${scene.url}/console/#/tasks?text=hello`)
    await page.getByText('hello one').waitFor()
    expect(await page.getByText('a story').count()).toBe(0)
  })

  test('are searched while one types, and the field keeps the focus', async () => {
    const scene = await useScene()
    await scene.send('echo', 'hello one')
    await scene.send('studio', 'a story')
    const { page } = await openPage(browser, `${scene.url}/console/#/tasks`)
    const search = page.getByRole('searchbox', { name: 'Search' })
    await search.pressSequentially('hello')
    await page.getByText('a story').waitFor({ state: 'detached' })
    await page.getByText('hello one').waitFor()
    await page.waitForURL(/text=hello$/)
    await page.keyboard.type(' o')
    await page.waitForURL(/text=hello(%20|\+)o$/)
    expect(await search.inputValue()).toBe('hello o')
    await search.fill('')
    await page.getByText('a story').waitFor()
  })

  test('rows change and appear as it happens', async () => {
    const scene = await useScene()
    const { page } = await openPage(browser, `${scene.url}/console/#/tasks`)
    await page.getByText('No tasks yet.').waitFor()
    scene.gate.shut()
    await scene.send('studio', 'a live story')
    const row = page.getByRole('row').filter({ hasText: 'a live story' })
    await row.getByText('working').waitFor()
    scene.gate.open()
    await row.getByText('input required').waitFor()
  })

  test('several are cancelled at once, by keyboard alone', async () => {
    const scene = await useScene()
    scene.gate.shut()
    const ids = [await scene.send('studio', 'one'), await scene.send('studio', 'two')]
    const { page } = await openPage(browser, `${scene.url}/console/#/tasks`)
    for (const name of ['one', 'two']) {
      await page.getByRole('checkbox', { name: `Choose ${name}` }).focus()
      await page.keyboard.press('Space')
    }
    await page.getByRole('button', { name: 'Cancel 2 tasks' }).press('Enter')
    await page.getByText('canceled').nth(1).waitFor()
    for (const id of ids)
      expect((await scene.store.get(id))?.head.state).toBe('TASK_STATE_CANCELED')
  })

  test('arrows go from row to row, and Enter opens one', async () => {
    const scene = await useScene()
    await scene.send('echo', 'older')
    await scene.send('echo', 'newer')
    const { page } = await openPage(browser, `${scene.url}/console/#/tasks`)
    await page.getByRole('link', { name: 'newer' }).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'older' }).waitFor()
  })
})

async function seed(store: Store, count: number): Promise<void> {
  const began = Date.parse('2026-01-01T00:00:00.000Z')
  for (let from = 0; from < count; from += 2_000)
    await store.commit(
      Array.from({ length: 2_000 }, (_, i) => {
        const id = `task-${from + i}`
        const contextId = `context-${from + i}`
        const timestamp = new Date(began + (from + i) * 1_000).toISOString()
        const state = 'TASK_STATE_COMPLETED' as const
        const parts = [{ text: `Question ${from + i}` }]
        const message = { messageId: id, role: 'ROLE_USER' as const, parts }
        const task = { id, contextId, status: { state, timestamp }, history: [message] }
        const scope = { agent: 'echo', tenant: '', owner: '' }
        const head = {
          id,
          scope,
          contextId,
          state,
          timestamp,
          busy: false,
          generation: 1,
          build: '',
        }
        const records = [{ seq: 1, kind: 'event' as const, event: { task } }]
        return { type: 'task' as const, head, expectedVersion: 0, records, task }
      }),
    )
}
