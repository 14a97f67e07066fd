/** Text as HTML takes it. Everything that others wrote passes through here. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** A table with a head and rows of cells that are markup already. */
export function htmlTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]): string =>
    row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')
  const body = rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('\n')
  return `<table><thead><tr>${cells('th', head)}</tr></thead><tbody>\n${body}\n</tbody></table>`
}

/** The page's looks; light or dark as the reader's system is. */
export const style = `
:root { --ink: #1c2024; --quiet: #667085; --line: #d9dee5; --page: #fff; --card: #f6f8fa; --s0: #2f6fdb; --s1: #8fb8f6; --good: #197a41; --bad: #b42318; --odd: #9a6700 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --quiet: #98a2b3; --line: #333b46; --page: #14171c; --card: #1c2128; --s0: #6aa1ff; --s1: #2f5aa3; --good: #5cc98a; --bad: #ff8a7a; --odd: #e3b341 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 960px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
.quiet { color: var(--quiet) } a { color: inherit }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(210px, 1fr)); gap: .6rem; margin: 1rem 0 }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem }
.tiles dt { color: var(--quiet); font-size: .82rem } .tiles dd { margin: 0; font-weight: 600 }
table { border-collapse: collapse; width: 100%; font-size: .9rem } th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--line) } th { color: var(--quiet); font-weight: 500 }
@media (max-width: 700px) { table { display: block; overflow-x: auto } }
figure { margin: 1rem 0; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .6rem } figcaption { font-size: .9rem; margin-bottom: .3rem }
svg { width: 100%; height: auto; display: block } svg text { fill: var(--quiet); font-size: 11px } .grid { stroke: var(--line) }
rect.s0 { fill: var(--s0) } rect.s1 { fill: var(--s1) } .key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .3em 0 .8em } .key.s0 { background: var(--s0) } .key.s1 { background: var(--s1) }
.badge { font-size: .78rem; padding: .1rem .45rem; border-radius: 9px; border: 1px solid; white-space: nowrap } .passed.badge { color: var(--good) } .failed.badge { color: var(--bad) } .unscored.badge, .infrastructure.badge { color: var(--odd) }
.filter { margin: .5rem 0 } .filter label { margin-right: 1rem }
body:has(#only-failed:checked) .sim.passed, body:has(#only-passed:checked) .sim:not(.passed) { display: none }
details.sim { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0 } summary { cursor: pointer; padding: .45rem .7rem } details[open] summary { border-bottom: 1px solid var(--line) }
.checks { list-style: none; margin: .6rem .7rem; padding: 0; font-size: .88rem } .met { color: var(--good) } .unmet { color: var(--bad) } .note { margin: .4rem .7rem; color: var(--odd) }
.talk { list-style: none; margin: .6rem .7rem; padding: 0 } .talk li { border-left: 3px solid var(--line); padding: .2rem .7rem; margin: .45rem 0 } .talk b { font-size: .78rem; color: var(--quiet) } .talk p { margin: .1rem 0; white-space: pre-wrap; overflow-wrap: anywhere }
.talk .assistant { border-color: var(--s0) } .talk .user { border-color: var(--s1) } .talk .bad { border-color: var(--bad) }
pre, code { font: 12.5px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere } pre { margin: .1rem 0; max-height: 14rem; overflow: auto } code { display: block }
`
