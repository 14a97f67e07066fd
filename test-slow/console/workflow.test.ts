import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browserPath, openBrowser } from '../../test/support/browser.ts'
import { axeFaults } from './axe.ts'
import { press } from './press.ts'
import { createGate, openPage, type Scene, useScene } from './scene.ts'

describe.skipIf(!browserPath)('The graph of a workflow', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  test('shows every kind of step before anything has happened', async () => {
    const { scene } = await usePress()
    const { page, faults } = await openPage(browser, `${scene.url}/console/#/teams/press`)
    for (const name of ['draft', 'checks', 'review', 'fix', 'languages', 'publish', 'at-once'])
      await nodeOf(page, name).waitFor()
    expect(await nodeOf(page, 'publish').locator('path.body').count()).toBe(1)
    expect(await nodeOf(page, 'languages').locator('rect.behind').count()).toBe(2)
    for (const words of [
      /From reviewer to writer-2: if steps.review.data.score < 0.8/,
      /From writer-2 to reviewer: until “steps.review.data.score >= 0.8”/,
      /From branch-1 to approval-1: steps.review.data.risk == 'high'/,
      /From branch-1 to publisher-2: otherwise/,
      /From approval-1 to writer: feedback/,
      /From checker to editor: nothing yet/,
      /From lawyer to editor: nothing yet/,
    ])
      await page.getByRole('button', { name: words }).waitFor()
    expect(faults).toEqual([])
  })

  test('lights the way that a branch took, the join, the map and the round of the loop', async () => {
    const { scene, gate } = await usePress()
    gate.shut()
    const id = await scene.send('press', 'A story')
    const { page, faults } = await openPage(browser, graphOf(scene, id))
    await nodeOf(page, 'draft').and(page.locator('.running')).waitFor()
    gate.open()
    await nodeOf(page, 'Approval').and(page.locator('.waits')).waitFor()
    await says(page, 'Approval', 'waits for you').waitFor()
    await says(page, 'languages', '3 of 3 items').waitFor()
    await says(page, 'publish', 'case 1').waitFor()
    await nodeOf(page, 'checks').and(page.locator('.visited')).waitFor()
    await edge(page, 'round 2 of 3').first().waitFor()
    await page.locator('.edge.visited', { hasText: "steps.review.data.risk == '" }).waitFor()
    await page.locator('.edge.passed-by', { hasText: 'otherwise' }).waitFor()
    expect(await nodeOf(page, 'at-once').getAttribute('class')).not.toContain('visited')
    expect(faults).toEqual([])
  })

  test('goes back by feedback, and says in which round', async () => {
    const { scene } = await usePress()
    const id = await scene.send('press', 'A story')
    const { page } = await openPage(browser, graphOf(scene, id))
    await page.getByRole('textbox', { name: 'Answer' }).fill('make it shorter')
    await page.keyboard.press('Enter')
    await edge(page, 'feedback 1 of 5').and(page.locator('.visited')).waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('completed', { exact: true }).waitFor()
    await says(page, 'Approval', 'approved').waitFor()
    await nodeOf(page, 'Approval').getByRole('button').press('Enter')
    const details = page.getByRole('region', { name: 'What happened here' })
    await details.getByText('make it shorter').waitFor()
    await details.getByText('feedback', { exact: true }).waitFor()
  })

  test('opens a node by the keyboard: its calls, their data as a tree, and what they cost', async () => {
    const { scene, id } = await asked()
    const { page, faults } = await openPage(browser, graphOf(scene, id))
    await says(page, 'review', '$0.002').waitFor()
    await nodeOf(page, 'review').getByRole('button').press('Enter')
    const details = page.getByRole('region', { name: 'What happened here' })
    await details.getByRole('heading', { name: 'review $0.002' }).waitFor()
    const tree = details.locator('.tree').last()
    await tree.getByText('0.9').waitFor()
    const languages = tree.locator('details', { hasText: 'languages' })
    expect(await languages.getByText('"es"').isVisible()).toBe(true)
    await languages.locator('summary').press('Enter')
    await languages.getByText('"es"').waitFor({ state: 'hidden' })
    expect(faults).toEqual([])
  })

  test('a branch opens to its cases, the one taken marked', async () => {
    const { scene, id } = await asked()
    const { page } = await openPage(browser, graphOf(scene, id))
    await nodeOf(page, 'publish').getByRole('button').press('Enter')
    const cases = page.getByRole('region', { name: 'What happened here' }).locator('.cases li')
    expect(await cases.allInnerTexts()).toEqual([
      expect.stringMatching(/^steps\.review\.data\.risk == 'high'\s*taken$/),
      'otherwise',
    ])
  })

  test('says what a task, a team and all of them cost, and how much of the budget is spent', async () => {
    const { scene, id } = await asked()
    const { page } = await openPage(browser, `${scene.url}/console/#/task/${id}`)
    const meter = page.getByRole('meter', { name: 'Budget' })
    await meter.waitFor()
    expect(await meter.getAttribute('aria-valuetext')).toBe('$0.0076 of $0.02')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('completed', { exact: true }).waitFor()
    await page.getByText('$0.0086 of $0.02').waitFor()
    await page.goto(`${scene.url}/console/#/teams/press`)
    const dearest = page.getByRole('meter', { name: 'Budget of the dearest run' })
    await dearest.waitFor()
    await page.getByText('$0.0086 of $0.02').waitFor()
    await page.goto(`${scene.url}/console/#/`)
    await page.getByRole('row').filter({ hasText: 'Press' }).getByText('$0.0086').waitFor()
  })

  for (const colorScheme of ['light', 'dark'] as const)
    test(`axe finds nothing serious in it, ${colorScheme}`, async () => {
      const { scene, id } = await asked()
      const { page } = await openPage(browser, graphOf(scene, id), { colorScheme })
      await nodeOf(page, 'review').getByRole('button').press('Enter')
      await page.getByRole('region', { name: 'What happened here' }).waitFor()
      expect(await axeFaults(page)).toEqual([])
      await page.goto(`${scene.url}/console/#/teams/press`)
      await page.locator('.node.visited').first().waitFor()
      expect(await axeFaults(page)).toEqual([])
    })

  test('390 pixels are wide enough', async () => {
    const { scene, id } = await asked()
    const { page } = await openPage(browser, graphOf(scene, id), {
      viewport: { width: 390, height: 844 },
    })
    await nodeOf(page, 'review').getByRole('button').press('Enter')
    await page.getByRole('region', { name: 'What happened here' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  })

  async function asked(): Promise<{ readonly scene: Scene; readonly id: string }> {
    const { scene } = await usePress()
    const id = await scene.send('press', 'A story')
    const { page, context } = await openPage(browser, `${scene.url}/console/#/task/${id}`)
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await context.close()
    return { scene, id }
  }
})

async function usePress() {
  const gate = createGate()
  const scene = await useScene({ agents: [press(gate)] })
  return { scene, gate }
}

function graphOf({ url }: Scene, id: string): string {
  return `${url}/console/#/task/${id}?tab=graph`
}

/** The node of this name. */
function nodeOf(page: Page, name: string): Locator {
  const words = page.locator('text', { hasText: new RegExp(`^${name}$`) })
  return page.locator('.node').filter({ has: words })
}

/** The words beneath the name of a node. */
function says(page: Page, name: string, words: string): Locator {
  return nodeOf(page, name).locator('text.small', { hasText: words })
}

/** The edges that say this. */
function edge(page: Page, words: string): Locator {
  return page.locator('.edge').filter({ hasText: words })
}
