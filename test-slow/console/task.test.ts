import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { A2AAgent, defineAgent } from '../../src/agents/index.ts'
import { usageExtension } from '../../src/protocol/extensions.ts'
import { defineTeam } from '../../src/team/index.ts'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { startRemote } from './remote.ts'
import { openPage, type Scene, useScene } from './scene.ts'

describe.skipIf(!browserPath)('A task', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('has a lane per member, nested ones beneath their team', async () => {
    const { scene, id } = await finished()
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/task/${id}`)
    await page.getByRole('heading', { level: 1, name: 'A story about a map' }).waitFor()
    expect(await page.getByRole('tab').allInnerTexts()).toEqual(
      expect.arrayContaining(['Timeline', 'Graph', 'Wire', 'Lanes', 'Hops', 'Records']),
    )
    const lanes = await page.locator('.lane .who').allInnerTexts()
    expect(lanes).toEqual(['Researcher', 'Writers', 'Composer', 'Editor', 'Publisher'])
    expect(await page.locator('.lane.depth-1 .who').allInnerTexts()).toEqual(['Composer', 'Editor'])
    const failed = page.getByRole('button', { name: /Researcher, .*unavailable/ })
    expect(await failed.getAttribute('class')).toMatch(/\bretried\b/)
    expect(faults).toEqual([])
  })

  test('has a line per hop that opens to tools with arguments and results', async () => {
    const { scene, id } = await finished()
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}?zoom=hops`)
    const hops = page.locator('.hops > li')
    await hops.nth(5).waitFor()
    expect(await hops.count()).toBe(6)
    await hops.nth(1).locator('summary').click()
    await hops.nth(1).getByText('{"query":"lighthouses"}').waitFor()
    await hops.nth(1).getByText('3 sources').waitFor()
  })

  test('shows every record', async () => {
    const { scene, id } = await finished()
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}`)
    await page.getByRole('tab', { name: 'Records' }).click()
    await page.getByText('Researcher failed').waitFor()
    await page.getByText('You approved').waitFor()
    await page.getByText('The task is completed').first().waitFor()
    expect(page.url()).toContain('zoom=records')
  })

  test('is replayed by a slider, and the address says as of which record', async () => {
    const { scene, id } = await finished()
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}`)
    const slider = page.getByRole('slider', { name: 'Record' })
    await slider.focus()
    await page.keyboard.press('Home')
    const replay = page.getByRole('group', { name: 'Replay' })
    await replay.getByText('working', { exact: true }).waitFor()
    expect(await page.locator('header').getByText('completed', { exact: true }).count()).toBe(1)
    expect(page.url()).toMatch(new RegExp(`#/task/${id}@\\d+$`))
    expect(await page.getByRole('region', { name: 'Artifacts' }).count()).toBe(0)
    expect(await page.locator('.lane .who').count()).toBe(0)
    await replay.getByRole('button', { name: 'Back to now' }).click()
    expect(await replay.getByText('working', { exact: true }).count()).toBe(0)
    await page.getByRole('region', { name: 'Artifacts' }).getByText('Published.').waitFor()
    expect(page.url()).not.toContain('@')
  })

  test('has one figure for its tokens: in the list, on its page and in the chat', async () => {
    const used = { inputTokens: 70, outputTokens: 30 }
    const writer = defineAgent({ id: 'writer', name: 'Writer' }, async function* (_, turn) {
      const metadata = { [usageExtension]: used }
      yield turn.artifact({ artifactId: 'response', parts: [{ text: 'Written.' }], metadata })
    })
    const desk = defineTeam({
      id: 'desk',
      name: 'Desk',
      agents: { writer },
      scheduler: { type: 'workflow', steps: [{ agentId: 'writer' }] },
    })
    const house = defineTeam({
      id: 'house',
      name: 'House',
      agents: { desk },
      scheduler: { type: 'workflow', steps: [{ agentId: 'desk' }] },
    })
    const scene = await useScene({ agents: [house] })
    const id = await scene.send('house', 'Write')
    const { page } = await openPage(browser, `${scene.url}/console/#/tasks`)
    await page.locator('.task-row').getByText('100 tokens').waitFor()
    await page.goto(`${scene.url}/console/#/task/${id}`)
    await page.locator('header').getByText('100 tokens').waitFor()
    await page.locator('header').getByRole('link', { name: 'House' }).click()
    await page.locator('.work summary').waitFor()
    expect(await page.locator('.work summary').innerText()).toContain('100 tokens')
  })

  test('a link names a record', async () => {
    const { scene, id } = await finished()
    const records = await scene.store.records(id, 0)
    const asked = records.find(
      (record) =>
        record.kind === 'event' &&
        'statusUpdate' in record.event &&
        record.event.statusUpdate.status.state === 'TASK_STATE_INPUT_REQUIRED',
    )
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}@${asked?.seq}`)
    await page.getByText('input required', { exact: true }).waitFor()
    expect(await page.locator('.lane .who').allInnerTexts()).not.toContain('Publisher')
  })

  test('has its team as a graph, lit as far as the log goes', async () => {
    const { scene, id } = await finished()
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}?tab=graph`)
    await page.locator('.node.visited').filter({ hasText: 'Publisher' }).waitFor()
    await page.locator('.node.retried').filter({ hasText: 'Researcher' }).waitFor()
    await page.getByRole('slider', { name: 'Record' }).focus()
    await page.keyboard.press('Home')
    await page.locator('.node.visited').waitFor({ state: 'detached' })
  })

  test('lights its graph while it works', async () => {
    const scene = await useScene()
    scene.gate.shut()
    const id = await scene.send('studio', 'A story')
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}?tab=graph`)
    await page.locator('.node.running').filter({ hasText: 'Researcher' }).waitFor()
    scene.gate.open()
    await page
      .locator('.node.visited')
      .filter({ hasText: /^Composer/ })
      .waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.locator('.node.visited').filter({ hasText: 'Publisher' }).waitFor()
  })

  test('is cancelled while it runs', async () => {
    const scene = await useScene()
    scene.gate.shut()
    const id = await scene.send('studio', 'A story')
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('canceled', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0)
  })

  test('is shown as every wire writes it, and copied as a command or program', async () => {
    const { scene, id } = await finished()
    const { page, context, faults } = await openPage(browser, `${scene.url}/console/#/task/${id}`)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('tab', { name: 'Wire' }).click()
    const shown: readonly (readonly [string, string])[] = [
      ['A2A 1.0', '"SendStreamingMessage"'],
      ['1.0 REST', 'message:stream'],
      ['A2A 0.3', '"message/stream"'],
      ['1.0-rc', '"message/stream"'],
      ['RANCH', '"jsonrpc"'],
      ['OpenAI', '"chat.completion.chunk"'],
      ['Webhook', '"statusUpdate"'],
    ]
    for (const [name, words] of shown) {
      await page.getByRole('tab', { name, exact: true }).click()
      await page.locator('.frames').getByText(words).first().waitFor()
    }
    await page.getByRole('tab', { name: 'A2A 1.0', exact: true }).click()
    await page.locator('.frames').getByText('"SendStreamingMessage"').first().waitFor()
    expect(await copied(page, 'curl')).toMatch(/^curl -N -X POST 'http.*SendStreamingMessage/s)
    expect(await copied(page, 'corral')).toContain("'A story about a map' --stream")
    expect(await copied(page, 'TypeScript')).toContain("from 'corral/client'")
    expect(faults).toEqual([])
  })

  test('shows every hop of a nested team with a member in another process', async () => {
    const remote = await startRemote()
    onTestFinished(remote.stop)
    const far = new A2AAgent({ id: 'far', name: 'Far', endpoint: remote.url })
    const near = defineAgent({ id: 'near', name: 'Near' }, () => 'near')
    const inner = defineTeam({
      ...{ id: 'inner', name: 'Inner', description: 'Inner' },
      agents: { far },
      scheduler: { type: 'workflow', steps: [{ agentId: 'far' }] },
    })
    const outer = defineTeam({
      ...{ id: 'outer', name: 'Outer', description: 'Outer' },
      agents: { near, inner },
      scheduler: { type: 'workflow', steps: [{ agentId: 'near' }, { agentId: 'inner' }] },
    })
    const scene = await useScene({ agents: [outer] })
    const id = await scene.send('outer', 'go')
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}`)
    await page.getByText('completed', { exact: true }).waitFor()
    expect(await page.locator('.lane .who').allInnerTexts()).toEqual(['Near', 'Inner', 'Far'])
    await page.getByRole('tab', { name: 'Graph' }).click()
    await page.locator('.node.visited').filter({ hasText: /^Far/ }).waitFor()
  })

  async function finished(): Promise<{ readonly scene: Scene; readonly id: string }> {
    const scene = await useScene()
    const id = await scene.send('studio', 'A story about a map')
    const { page, context } = await openPage(browser, `${scene.url}/console/#/task/${id}`)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('completed', { exact: true }).waitFor()
    await context.close()
    return { scene, id }
  }
})

async function copied(page: Page, name: string): Promise<string> {
  await page.getByRole('button', { name, exact: true }).click()
  await page.getByText('Copied').waitFor()
  const text = await page.evaluate(() => navigator.clipboard.readText())
  await page.getByText('Copied').waitFor({ state: 'detached' })
  return text
}
