import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { openPage, useScene } from './scene.ts'

describe.skipIf(!browserPath)('Home', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('says that nothing has happened yet, and names who is served', async () => {
    const { url } = await useScene()
    const { page, faults } = await openPage(browser, url)
    await page.getByRole('heading', { level: 1, name: 'Ready for a first question' }).waitFor()
    for (const name of ['Studio', 'Streamer', 'Echo'])
      expect(await page.getByRole('row').filter({ hasText: name }).count()).toBe(1)
    expect(faults).toEqual([])
  })

  test('has links to every view', async () => {
    const { url } = await useScene()
    const { page } = await openPage(browser, url)
    const links = await page.getByRole('navigation').getByRole('link').allInnerTexts()
    expect(links).toEqual(['Home', 'Chat', 'Teams', 'Tasks', 'Webhooks', 'Agents'])
  })

  test('a task that waits is approved in place and goes on', async () => {
    const scene = await useScene()
    const { page, faults } = await openPage(browser, scene.url)
    const id = await scene.send('studio', 'A story about a map')
    await page.getByRole('heading', { level: 1, name: 'One task needs you' }).waitFor()
    const inbox = page.getByRole('region', { name: 'Needs you' })
    expect(await inbox.innerText()).toContain('Publish?')
    await inbox.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { level: 1, name: /All quiet/ }).waitFor()
    expect((await scene.store.get(id))?.head.state).toBe('TASK_STATE_COMPLETED')
    expect(faults).toEqual([])
  })

  test('a task that waits is rejected in place', async () => {
    const scene = await useScene()
    const id = await scene.send('studio', 'A story about a map')
    const { page } = await openPage(browser, scene.url)
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByRole('heading', { level: 1, name: /All quiet/ }).waitFor()
    expect((await scene.store.get(id))?.head.state).toBe('TASK_STATE_REJECTED')
  })

  test('says how many are at work, as it happens', async () => {
    const scene = await useScene()
    const { page } = await openPage(browser, scene.url)
    await page.getByRole('heading', { level: 1, name: 'Ready for a first question' }).waitFor()
    scene.gate.shut()
    await scene.send('studio', 'one')
    await page.getByRole('heading', { level: 1, name: 'One task at work' }).waitFor()
    scene.gate.open()
    await page.getByRole('heading', { level: 1, name: 'One task needs you' }).waitFor()
  })
})
