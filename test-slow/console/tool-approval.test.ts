import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent, defineTool, OpenAIAgent } from '../../src/agents/index.ts'
import { defineTeam } from '../../src/team/index.ts'
import { openModelServer } from '../../src/testing/index.ts'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { axeFaults } from './axe.ts'
import { openPage, type Scene, useScene } from './scene.ts'

describe.skipIf(!browserPath)('A tool that waits for a person', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  for (const colorScheme of ['light', 'dark'] as const)
    test(`is shown with its arguments on Home, and runs at a yes, ${colorScheme}`, async () => {
      const { scene, paid } = await useOffice()
      const id = await scene.send('office', 'Pay the bill')
      const { page, faults } = await openPage(browser, scene.url, { colorScheme })
      const inbox = page.getByRole('region', { name: 'Needs you' })
      await inbox.getByText('Clerk wants to run').waitFor()
      await inbox.getByText('pay', { exact: true }).waitFor()
      await inbox.locator('.tree').getByText('amount').waitFor()
      expect(await axeFaults(page)).toEqual([])
      expect(paid).toEqual([])
      await inbox.getByRole('button', { name: 'Approve' }).press('Enter')
      await page.getByRole('heading', { level: 1, name: /All quiet/ }).waitFor()
      const state = async () => (await scene.store.get(id))?.head.state
      await expect.poll(state).toBe('TASK_STATE_COMPLETED')
      expect(paid).toEqual([{ amount: 5 }])
      expect(faults).toEqual([])
    })

  test('shows its arguments once in the chat, before and after the yes', async () => {
    const { scene, paid } = await useOffice()
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/chat/office`)
    await page.getByRole('textbox').fill('Pay the bill')
    await page.getByRole('textbox').press('Enter')
    // The work beneath the answer, folded away, names what was done too.
    const said = page.getByRole('list', { name: 'Conversation' }).locator('.said')
    await said.getByText('Clerk wants to run').waitFor()
    expect(await said.getByText('amount').count()).toBe(1)
    await page.getByRole('button', { name: 'Approve' }).click()
    await said.getByText('Paid.').waitFor()
    for (const isAgain of [false, true]) {
      if (isAgain) await page.reload()
      await said.getByText('Paid.').waitFor()
      expect(await said.getByText('Clerk wants to run').count()).toBe(1)
      expect(await said.getByText('amount').count()).toBe(1)
    }
    expect(paid).toEqual([{ amount: 5 }])
    expect(faults).toEqual([])
  })

  test('is amber in the graph of its task, and a no ends it', async () => {
    const { scene, paid } = await useOffice()
    const id = await scene.send('office', 'Pay the bill')
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}?tab=graph`)
    await page.locator('.node.waits').filter({ hasText: 'Clerk' }).waitFor()
    const asks = page.getByRole('region', { name: 'The task asks' })
    await asks.locator('.tree').getByText('amount').waitFor()
    await asks.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('rejected', { exact: true }).waitFor()
    expect(paid).toEqual([])
    await page.goto(`${scene.url}/console/#/task/${id}?zoom=records`)
    await page.getByText('You rejected the tool pay').waitFor()
  })

  test('guards are shields at the steps they guard, with what they said in the details', async () => {
    const { scene } = await useOffice()
    const id = await scene.send('guarded', 'Write')
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}?tab=graph`)
    const node = page.locator('.node').filter({ hasText: 'Scribe' })
    await node.locator('.shield-shape.replace').waitFor()
    await page
      .locator('.node')
      .filter({ hasText: 'Censor' })
      .locator('.shield-shape.block')
      .waitFor()
    await node.getByRole('button').press('Enter')
    const details = page.getByRole('region', { name: 'What happened here' })
    await details.getByText('replaced', { exact: true }).waitFor()
    await details.getByText('output guard email').waitFor()
  })
})

/** A team whose clerk pays only after a yes, and one whose steps are guarded. */
async function useOffice(): Promise<{ readonly scene: Scene; readonly paid: unknown[] }> {
  const paid: unknown[] = []
  const call = { tools: [{ name: 'pay', arguments: { amount: 5 } }] }
  const service = await openModelServer([call, 'Paid.'])
  const clerk = new OpenAIAgent({
    ...{ id: 'clerk', name: 'Clerk', endpoint: service.url, apiKey: 'k', model: 'm' },
    tools: [
      defineTool({
        name: 'pay',
        description: 'Pays',
        input: { type: 'object', properties: { amount: { type: 'number' } } },
        approval: true,
        execute(args) {
          paid.push(args)
          return 'paid'
        },
      }),
    ],
  })
  const says = (id: string, words: string) =>
    defineAgent({ id, name: id.charAt(0).toUpperCase() + id.slice(1) }, () => words)
  const about = { name: 'Office', description: 'Pays bills' }
  const office = defineTeam({
    ...{ id: 'office', ...about, agents: { clerk } },
    scheduler: { type: 'workflow', steps: [{ agentId: 'clerk' }] },
  })
  const guarded = defineTeam({
    ...{ id: 'guarded', name: 'Guarded', description: 'Writes' },
    agents: {
      scribe: says('scribe', 'Write to ann@example.com'),
      censor: says('censor', 'nothing'),
    },
    scheduler: {
      type: 'workflow',
      steps: [
        { agentId: 'scribe', guards: { output: ['email'] } },
        { agentId: 'censor', guards: { input: [{ use: 'length', max: 3 }] } },
      ],
    },
  })
  const scene = await useScene({ agents: [office, guarded] })
  onTestFinished(async () => {
    await clerk.close()
    await service.close()
  })
  return { scene, paid }
}
