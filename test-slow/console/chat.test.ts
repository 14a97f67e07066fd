import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/index.ts'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { useProxy } from './proxy.ts'
import { openPage, useScene } from './scene.ts'

describe.skipIf(!browserPath)('Chat', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('an answer streams in and the address names the conversation', async () => {
    const scene = await useScene()
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/chat/streamer`)
    scene.gate.shut()
    await say(page, 'count to 6')
    await page.getByText('w1 w2', { exact: true }).waitFor()
    scene.gate.open()
    await page.getByText('w1 w2 w3 w4 w5 w6', { exact: true }).waitFor()
    expect(page.url()).toMatch(/#\/chat\/streamer\/[\w-]+$/)
    expect(faults).toEqual([])
  })

  test('a connection that breaks is taken up again without a gap', async () => {
    const scene = await useScene()
    const wire = await useProxy(scene.url)
    const { page } = await openPage(browser, `${wire.url}/console/#/chat/streamer`)
    scene.gate.shut()
    await say(page, 'count to 20')
    await page.getByText('w8 w9', { exact: false }).waitFor()
    wire.cut()
    await page.getByText('Connection lost').waitFor()
    scene.gate.open()
    const all = Array.from({ length: 20 }, (_, i) => `w${i + 1}`).join(' ')
    await page.getByText(all, { exact: true }).waitFor()
    expect(await page.getByText('w1 w2').count()).toBe(1)
  })

  test('a question is answered, by a press or by words', async () => {
    const scene = await useScene()
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/chat/studio`)
    await say(page, 'A story')
    await page.getByText('Publish?').waitFor()
    await say(page, 'perhaps')
    await page.getByText('neither a yes nor a no').first().waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('Published.').waitFor()
    expect(faults).toEqual([])
  })

  test('shows who works on it, retries and tools among it', async () => {
    const scene = await useScene()
    const { page } = await openPage(browser, `${scene.url}/console/#/chat/studio`)
    scene.gate.shut()
    await say(page, 'A story')
    await page.getByText('Researcher is at work').waitFor()
    scene.gate.open()
    await page.getByText('Publish?').waitFor()
    const work = page.locator('details.work')
    await work.locator('summary').click()
    const lines = await work.getByRole('listitem').allInnerTexts()
    expect(lines.map((line) => line.split('\n')[0])).toEqual([
      'Researcher',
      'Researcher',
      'Writers',
      'Composer',
      'Editor',
    ])
    expect(lines[0]).toContain('failed: unavailable')
    expect(lines[1]).toContain('try 2')
    expect(lines[1]).toContain('1 tool')
  })

  test('a running task is cancelled', async () => {
    const scene = await useScene()
    const { page } = await openPage(browser, `${scene.url}/console/#/chat/studio`)
    scene.gate.shut()
    await say(page, 'A story')
    await page.getByText('Researcher is at work').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('canceled', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0)
  })

  test('markdown is drawn, and what is not harmless is left out', async () => {
    const hostile = defineAgent(
      { id: 'hostile', name: 'Hostile' },
      () =>
        '# Title\n\n<img src="http://evil.test/x" onerror="window.broken=1"><form action="http://evil.test"><input></form>\n\n<a href="javascript:window.broken=1">one</a> [two](https://example.com) [three](javascript:window.broken=1)\n\n<style>body{display:none}</style><svg onload="window.broken=1"></svg><p style="color:red">red</p>',
    )
    const scene = await useScene({ agents: [hostile] })
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/chat/hostile`)
    await say(page, 'go')
    const answer = page.locator('.said.answer')
    await answer.getByRole('heading', { name: 'Title' }).waitFor()
    await answer.getByText('red').waitFor()
    expect(await answer.locator('img, form, input, style, svg, [style]').count()).toBe(0)
    expect(await answer.getByRole('link').allInnerTexts()).toEqual(['two'])
    expect(await answer.getByText('two').getAttribute('rel')).toContain('noopener')
    expect(await answer.getByText('three').getAttribute('href')).toBe(null)
    expect(await page.evaluate(() => 'broken' in window)).toBe(false)
    expect(faults).toEqual([])
  })

  test('files go with a message and come back with the answer', async () => {
    const giver = defineAgent({ id: 'giver', name: 'Giver' }, async function* ({ parts }, turn) {
      const names = parts.map(({ filename }) => filename ?? 'text')
      const raw = Buffer.from('hello').toString('base64')
      const file = { raw, filename: 'hello.bin', mediaType: 'application/octet-stream' }
      yield turn.artifact({ artifactId: 'a', parts: [{ data: { names } }, file] })
      yield turn.status('TASK_STATE_COMPLETED')
    })
    const scene = await useScene({ agents: [giver] })
    const { page } = await openPage(browser, `${scene.url}/console/#/chat/giver`)
    await page.locator('input[type=file]').setInputFiles({
      ...{ name: 'notes.bin', mimeType: 'application/octet-stream' },
      buffer: Buffer.from([1, 2, 3]),
    })
    await page.getByText('notes.bin').waitFor()
    await say(page, 'keep this')
    await page.getByText('"notes.bin"').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /hello\.bin/ }).click(),
    ])
    expect(download.suggestedFilename()).toBe('hello.bin')
  })

  test('several conversations stay apart and can be taken up again', async () => {
    const scene = await useScene()
    const { page } = await openPage(browser, `${scene.url}/console/#/chat/echo`)
    await say(page, 'first talk')
    await page.getByText('You said: first talk').waitFor()
    await page.getByRole('link', { name: 'New conversation' }).click()
    await page.getByText('Ask Echo something.').waitFor()
    await say(page, 'second talk')
    await page.getByText('You said: second talk').waitFor()
    expect(await page.getByText('You said: first talk').count()).toBe(0)
    await page.getByRole('complementary', { name: 'Conversations' }).getByText('first talk').click()
    await page.getByText('You said: first talk').waitFor()
    expect(await page.getByText('You said: second talk').count()).toBe(0)
    await page.reload()
    await page.getByText('You said: first talk').waitFor()
  })

  test('ten thousand chunks are drawn at most once per frame', async () => {
    const scene = await useScene()
    const { page } = await openPage(browser, `${scene.url}/console/#/chat/streamer`)
    await page.evaluate(() => {
      const counts = { frames: 0, drawn: 0, most: 0, within: 0 }
      Object.assign(window, { counts })
      const isAnswer = (node: Node): boolean =>
        (node instanceof Element ? node : node.parentElement)?.closest('.said.answer') != null
      // A quick answer is there at once, as a whole.
      const isNew = (node: Node): boolean =>
        isAnswer(node) || (node instanceof Element && node.querySelector('.said.answer') !== null)
      new MutationObserver((changes) => {
        const draws = ({ target, addedNodes }: MutationRecord): boolean =>
          isAnswer(target) || [...addedNodes].some(isNew)
        if (!changes.some(draws)) return
        counts.drawn++
        counts.most = Math.max(counts.most, ++counts.within)
      }).observe(document, { subtree: true, childList: true, characterData: true })
      const frame = (): void => {
        counts.frames++
        counts.within = 0
        requestAnimationFrame(frame)
      }
      requestAnimationFrame(frame)
    })
    await say(page, 'count to 10000')
    await page.locator('.said.answer').filter({ hasText: 'w10000' }).waitFor()
    const counts = await page.evaluate(() => Reflect.get(window, 'counts'))
    expect(counts.drawn).toBeGreaterThan(0)
    expect(counts.most).toBe(1)
    expect(counts.drawn).toBeLessThanOrEqual(counts.frames)
  })
})

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}
