import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { openPage, useScene } from './scene.ts'

describe.skipIf(!browserPath)('Teams', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('a team is drawn from its definition, and its nested team opens in place', async () => {
    const scene = await useScene()
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/teams`)
    await page
      .getByRole('main')
      .getByRole('link', { name: /Studio/ })
      .click()
    await page.getByRole('heading', { level: 1, name: 'Studio' }).waitFor()
    expect(page.url()).toContain('#/teams/studio')
    await page
      .locator('.node')
      .filter({ hasText: /^Composer/ })
      .waitFor()
    await page.getByRole('button', { name: 'Close Writing team' }).click()
    await page
      .locator('.node')
      .filter({ hasText: /^Composer/ })
      .waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Open Writing team' }).focus()
    await page.keyboard.press('Enter')
    await page
      .locator('.node')
      .filter({ hasText: /^Composer/ })
      .waitFor()
    expect(faults).toEqual([])
  })

  test('edges carry how many, how fast and how badly, as work moves', async () => {
    const scene = await useScene()
    const { page } = await openPage(browser, `${scene.url}/console/#/teams/studio`)
    await page.getByRole('button', { name: /From you to researcher: nothing yet/ }).waitFor()
    scene.gate.shut()
    await scene.send('studio', 'A story')
    await page.getByRole('button', { name: /From you to researcher: 1 · now/ }).waitFor()
    scene.gate.open()
    await page.getByRole('button', { name: /From you to researcher: 2 · .* 1 failed/ }).waitFor()
    await page.getByRole('button', { name: /From researcher to writers: 1 · / }).waitFor()
    await page.getByRole('button', { name: /From composer to editor: 1 · / }).waitFor()
  })

  test('an edge shows the last messages over it, and leads to their task', async () => {
    const scene = await useScene()
    const id = await scene.send('studio', 'A story about a map')
    const { page } = await openPage(browser, `${scene.url}/console/#/teams/studio`)
    await page.getByRole('button', { name: /From you to researcher: 2/ }).press('Enter')
    const messages = page.getByRole('region', { name: 'Last messages' })
    await messages.getByText('A story about a map').first().waitFor()
    expect(await messages.getByRole('listitem').count()).toBe(2)
    await messages.getByRole('link', { name: 'In its task' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'A story about a map' }).waitFor()
    expect(page.url()).toMatch(new RegExp(`#/task/${id}@\\d+`))
  })
})
