import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiKey } from '../../src/server/index.ts'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { openPage, useScene } from './scene.ts'

const keys = {
  'key-of-ann': { userId: 'ann' },
  'key-of-bob': { userId: 'bob' },
  'key-of-op': { userId: 'op', scopes: ['operator'] },
}

describe.skipIf(!browserPath)('An operator', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('sees the tasks of all and whose they are, answers none, and each look is logged', async () => {
    const looks: object[] = []
    const logger = {
      debug: () => {},
      info: (fields: object, text: string) => {
        if (text === 'An operator looked') looks.push(fields)
      },
      warn: () => {},
      error: () => {},
    }
    const scene = await useScene({ auth: { authenticators: [apiKey({ keys })] }, logger })
    const ask = async (key: string, agent: string, text: string): Promise<void> => {
      const { page, context } = await openPage(browser, `${scene.url}/console/#/chat/${agent}`)
      await signIn(page, key)
      await page.getByRole('textbox', { name: 'Message' }).fill(text)
      await page.keyboard.press('Enter')
      const answered = page.getByText(`You said: ${text}`)
      await answered
        .or(page.getByRole('button', { name: 'Approve' }))
        .first()
        .waitFor()
      await context.close()
    }
    await ask('key-of-ann', 'studio', 'a story of ann')
    await ask('key-of-bob', 'echo', 'a word of bob')
    expect(looks).toEqual([])

    const { page } = await openPage(browser, `${scene.url}/console/#/tasks`)
    await signIn(page, 'key-of-op')
    for (const [words, owner] of [
      ['a story of ann', 'ann'],
      ['a word of bob', 'bob'],
    ] as const)
      await page.locator('.task-row').filter({ hasText: words }).getByText(`· ${owner}`).waitFor()
    expect(looks).toContainEqual({ operator: 'op', path: '/console/api/tasks' })

    await page.getByRole('link', { name: /a story of ann/ }).click()
    await page.getByRole('heading', { level: 1, name: 'a story of ann' }).waitFor()
    await page.getByText('input required', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: /Approve|Cancel/ }).count()).toBe(0)
    const id = /#\/task\/([^@?]+)/.exec(page.url())?.[1]
    expect(looks).toContainEqual({ operator: 'op', path: `/console/api/tasks/${id}` })
  })
})

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('X-API-Key').or(page.getByLabel('API key')).first().fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
