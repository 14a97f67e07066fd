import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** What axe finds wrong in a page. */
export async function axeFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const found = await page.evaluate(async () => {
    const { violations } = await Reflect.get(window, 'axe').run(document)
    return violations
  })
  return (found as axe.Result[]) // what axe answers
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}
