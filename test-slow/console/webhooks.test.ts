import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { openPage, useScene } from './scene.ts'

describe.skipIf(!browserPath)('Webhooks', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('a receiver shows what a task tells it, and its queue stands in the list', async () => {
    const scene = await useScene()
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/webhooks`)
    await page.getByText('No task has a webhook.').waitFor()
    await page.getByRole('button', { name: 'Make a receiver' }).click()
    const receiver = page.getByRole('region', { name: 'Receiver' })
    await receiver.getByText('/console/api/receiver/').waitFor()
    await receiver.getByRole('combobox', { name: 'Agent' }).selectOption('echo')
    await receiver.getByRole('textbox', { name: 'Message to try' }).fill('hook')
    await receiver.getByRole('button', { name: 'Send with this webhook' }).click()
    const body = receiver.locator('details').filter({ hasText: 'You said: hook' }).first()
    await body.locator('summary').click()
    await body.getByText('"You said: hook"').waitFor()
    await page.getByRole('heading', { level: 1, name: 'All webhooks are up to date' }).waitFor()
    const queue = page.getByRole('table', { name: 'Queues' }).getByRole('row').nth(1)
    expect(await queue.innerText()).toContain('/console/api/receiver/')
    expect(await queue.locator('.chip.good').count()).toBeGreaterThan(0)
    expect(faults).toEqual([])
  })

  test('what was given up is tried once more', async () => {
    let isUp = false
    const scene = await useScene({
      routes: ({ path }) =>
        path === '/hook' ? { status: isUp ? 200 : 410, headers: {} } : undefined,
      pushNotifications: {
        guard: { allow: ['127.0.0.1', '127.0.0.0/8'], allowHttp: true },
        retry: { maxAttempts: 1 },
      },
    })
    await sendWithHook(scene.url)
    const { page } = await openPage(browser, `${scene.url}/console/#/webhooks`)
    await page.getByRole('heading', { level: 1, name: /given up/ }).waitFor()
    isUp = true
    await page.getByRole('button', { name: 'Redrive all' }).click()
    await page.getByRole('heading', { level: 1, name: 'All webhooks are up to date' }).waitFor()
  })
})

async function sendWithHook(url: string): Promise<void> {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
  const hook = { url: `${url}/hook` }
  const configuration = { taskPushNotificationConfig: hook, returnImmediately: true }
  const response = await fetch(`${url}/agents/echo/v1/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'SendMessage' },
      params: { message, configuration },
    }),
  })
  expect(await response.json()).toHaveProperty('result.task')
}
