import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Agent, defineAgent } from '../../src/agents/index.ts'
import { textOf } from '../../src/protocol/task.ts'
import { defineTeam } from '../../src/team/index.ts'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { openPage, useScene } from './scene.ts'

/** A team whose approval takes words, and gives them to its writer. */
function press(): Agent {
  return defineTeam({
    id: 'press',
    name: 'Press',
    description: 'Writes, asks and prints',
    agents: { writer: defineAgent({ id: 'writer', name: 'Writer' }, ({ parts }) => textOf(parts)) },
    scheduler: {
      type: 'workflow',
      steps: [
        { agentId: 'writer', name: 'write' },
        { approval: { question: 'Print this?', onFeedback: 'write' } },
      ],
    },
  })
}

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

  test('words are taken where feedback is, and the item begins anew when its task asks again', async () => {
    const scene = await useScene({ agents: [press()] })
    const id = await scene.send('press', 'A story about a map')
    const { page, faults } = await openPage(browser, scene.url)
    const inbox = page.getByRole('region', { name: 'Needs you' })
    await inbox.getByPlaceholder('or say what to change').fill('make it shorter')
    await inbox.getByRole('button', { name: 'Answer' }).click()
    await inbox.getByText('Feedback: make it shorter').waitFor()
    await inbox.getByText('Sent; the task goes on.').waitFor({ state: 'detached' })
    await inbox.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { level: 1, name: /All quiet/ }).waitFor()
    expect((await scene.store.get(id))?.head.state).toBe('TASK_STATE_COMPLETED')
    expect(faults).toEqual([])
  })

  test('an approval that takes no feedback has no place for words, here and on the page of its task', async () => {
    const scene = await useScene()
    const id = await scene.send('studio', 'A story about a map')
    const { page } = await openPage(browser, scene.url)
    for (const place of ['Needs you', 'The task asks']) {
      const asking = page.getByRole('region', { name: place })
      await asking.getByRole('button', { name: 'Approve' }).waitFor()
      expect(await asking.getByRole('textbox').count()).toBe(0)
      await page.goto(`${scene.url}/console/#/task/${id}`)
    }
  })

  test('a phone shows the whole question above the buttons that answer it', async () => {
    const scene = await useScene({ agents: [press()] })
    const story = Array.from({ length: 60 }, (_, i) => `Line ${i} of it.`).join('\n\n')
    const id = await scene.send('press', story)
    const { page } = await openPage(browser, scene.url, { viewport: { width: 390, height: 844 } })
    for (const place of ['Needs you', 'The task asks']) {
      const asking = page.getByRole('region', { name: place })
      const approve = asking.getByRole('button', { name: 'Approve' })
      await approve.waitFor()
      const last = asking.getByText('Line 59 of it.')
      const isCut = await last.evaluate((line) => {
        for (let box = line.parentElement; box; box = box.parentElement)
          if (box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY === 'auto')
            return true
        return false
      })
      expect(isCut, place).toBe(false)
      const [text, button] = [await last.boundingBox(), await approve.boundingBox()]
      expect(text && button && text.y < button.y, place).toBe(true)
      await page.goto(`${scene.url}/console/#/task/${id}`)
    }
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
