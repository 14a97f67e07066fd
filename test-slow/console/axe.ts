import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** What axe finds serious or worse in a page. */
export async function seriousFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const found = await page.evaluate(async () => {
    const { violations } = await Reflect.get(window, 'axe').run(document)
    return violations
  })
  return (found as axe.Result[]) // what axe answers
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}
