/**
 * `npx tsx scripts/picture.ts PAGE OUT.png`: a Markdown page as GitHub shows it, 1012 pixels wide, and beside it as
 * `OUT-390.png` on a phone, for a person to look at.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { marked } from 'marked'
import { openBrowser } from '../test/support/browser.ts'
import { withTemporary } from './temporary.ts'

const [page, out] = process.argv.slice(2)
if (!page || !out) throw new Error('Usage: npx tsx scripts/picture.ts PAGE OUT.png')

/** What GitHub's page does to the look of Markdown. */
const style = `
body { margin: 0; padding: 32px; font: 16px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; color: #1f2328; overflow-wrap: break-word }
body > :first-child { margin-top: 0 }
h1, h2, h3, h4 { margin: 24px 0 16px; font-weight: 600; line-height: 1.25 }
h1 { font-size: 2em } h2 { font-size: 1.5em } h3 { font-size: 1.25em } h4 { font-size: 1em }
h1, h2 { padding-bottom: .3em; border-bottom: 1px solid #d1d9e0b3 }
p, ul, ol, table, pre, blockquote, details { margin: 0 0 16px }
ul, ol { padding-left: 2em } li + li { margin-top: .25em }
a { color: #0969da; text-decoration: underline }
img { max-width: 100%; box-sizing: content-box }
code { padding: .2em .4em; font: 85% ui-monospace, "Liberation Mono", Menlo, monospace; background: #818b981f; border-radius: 6px }
pre { padding: 16px; overflow: auto; font-size: 85%; line-height: 1.45; background: #f6f8fa; border-radius: 6px }
pre code { padding: 0; font-size: 100%; background: none }
table { display: block; width: max-content; max-width: 100%; overflow: auto; border-collapse: collapse }
th, td { padding: 6px 13px; border: 1px solid #d1d9e0 }
tr:nth-child(2n) { background: #f6f8fa }
blockquote { padding: 0 1em; color: #59636e; border-left: .25em solid #d1d9e0 }
hr { height: .25em; margin: 24px 0; background: #d1d9e0; border: 0 }
@media (max-width: 600px) { body { padding: 16px } }
`
const html = `<!doctype html><meta charset="utf-8"><base href="${pathToFileURL(`${dirname(resolve(page))}/`)}"><style>${style}</style>${await marked(readFileSync(page, 'utf8'), { gfm: true })}`

await withTemporary('picture', async (folder) => {
  const file = join(folder, 'page.html')
  writeFileSync(file, html)
  const browser = await openBrowser()
  try {
    for (const [width, path] of [
      [1012, out],
      [390, out.replace(/\.png$/, '-390.png')],
    ] as const) {
      const shown = await browser.newPage({ viewport: { width, height: 800 } })
      await shown.goto(pathToFileURL(file).href)
      await shown.screenshot({ path, fullPage: true })
      await shown.close()
      console.log(path)
    }
  } finally {
    await browser.close()
  }
})
