import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/index.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { axeFaults } from './axe.ts'
import { openPage, useScene } from './scene.ts'

describe.skipIf(!browserPath)('Agents', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('any agent is looked at by its URL: card, chat, tasks and check', async () => {
    const far = await useForeignAgent()
    const scene = await useScene()
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/agents`)
    await page.getByRole('textbox', { name: 'URL of the agent' }).fill(far)
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('heading', { level: 1, name: 'Stranger' }).waitFor()
    const card = page.getByRole('region', { name: 'Card' })
    await card.getByText('not signed', { exact: true }).waitFor()
    await card.getByText('nothing wrong with the card').waitFor()

    await page.getByRole('tab', { name: 'Chat' }).click()
    await page.getByRole('textbox', { name: 'Message' }).fill('hello stranger')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('far: hello').waitFor()

    await page.getByRole('tab', { name: 'Tasks' }).click()
    await page.getByRole('listitem').filter({ hasText: 'hello stranger' }).waitFor()

    await page.getByRole('tab', { name: 'Check' }).click()
    await page.getByRole('button', { name: 'Check this agent' }).click()
    await page.getByText(/passed, \d+ left out/).waitFor()
    expect(faults).toEqual([])
  })

  test('an agent that the address of the page names is contacted once the person agrees', async () => {
    const far = await useForeignAgent()
    const scene = await useScene()
    const address = `${scene.url}/console/#/agents/${encodeURIComponent(`${far}/?q=1`)}`
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/`)
    const relayed: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/relay')) relayed.push(String(request.postData()))
    })
    await page.goto(address)
    const question = page.getByRole('region', { name: 'Contact this agent?' })
    await question.getByText(far, { exact: true }).waitFor()
    expect(await axeFaults(page)).toEqual([])
    await question.getByRole('button', { name: 'Do not contact it' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Look at any agent' }).waitFor()
    expect(relayed).toEqual([])

    await page.goto(address)
    await question.getByRole('button', { name: 'Contact it', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Stranger' }).waitFor()
    expect(relayed).toHaveLength(1)
    // It is remembered in this tab, over a reload too, for this origin alone.
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Stranger' }).waitFor()
    await page.goto(`${scene.url}/console/#/agents/${encodeURIComponent('http://127.0.0.1:1')}`)
    await question.getByText('http://127.0.0.1:1', { exact: true }).waitFor()
    expect(relayed).toHaveLength(2)
    expect(faults).toEqual([])
  })

  test('an address where nobody answers gets a sentence', async () => {
    const scene = await useScene()
    const address = encodeURIComponent('http://127.0.0.1:1')
    const { page } = await openPage(browser, `${scene.url}/console/#/agents/${address}`)
    await page.getByRole('button', { name: 'Contact it', exact: true }).click()
    await page.getByRole('alert').waitFor()
    expect((await page.getByRole('alert').innerText()).length).toBeGreaterThan(10)
  })
})

async function useForeignAgent(): Promise<string> {
  const stranger = defineAgent({ id: 'stranger', name: 'Stranger' }, async function* (_, turn) {
    yield turn.artifact({ artifactId: 'a', parts: [{ text: 'far: hello' }] })
    yield turn.status('TASK_STATE_COMPLETED')
  })
  const server = await createServer({ agents: [stranger], logger: false })
  const { port, close } = await listen(server, { port: 0, host: '127.0.0.1' })
  onTestFinished(close)
  return `http://127.0.0.1:${port}`
}
