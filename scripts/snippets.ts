/**
 * Copies regions of `examples/`, or whole files, into README and docs, so that code in words is code that runs.
 *
 *     <!-- snippet: examples/quickstart/serve.ts#serve -->
 *     ```ts
 *     …everything between `// #region serve` and `// #endregion`…
 *     ```
 *
 * `<!-- statements: S000-1 to 18 -->` stands above a table of rows of `scripts/seeds/statements.md`.
 *
 * `--check` writes nothing and exits 1 if a page is not as it would be.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pagesOf } from './markdown/tree.ts'
import { fillTables, readStatements } from './seeds/table.ts'

const root = join(import.meta.dirname, '..')
const check = process.argv.includes('--check')
// The fence may be empty, so its end need not follow a line of its own.
const marker = /(<!-- snippet: (\S+?)(?:#(\S+))? -->\n```(\w+)\n)[\s\S]*?(?<=\n)```/g

const statements = readStatements(read('scripts/seeds/statements.md', undefined))

let stale = 0
for (const page of pagesOf(root)) {
  const text = readFileSync(join(root, page), 'utf8')
  const filled = text.replace(
    marker,
    (_, head, file, region) => `${head}${read(file, region)}\n\`\`\``,
  )
  const fresh = fillTables(filled, statements)
  if (fresh === text) continue
  stale++
  if (check)
    console.error(
      `${page}: its snippets are not those of examples/, or its tables not those of scripts/seeds/; run npm run snippets`,
    )
  else writeFileSync(join(root, page), fresh)
}
process.exit(check && stale > 0 ? 1 : 0)

function read(file: string, region: string | undefined): string {
  const text = readFileSync(join(root, file), 'utf8').trimEnd()
  if (!region) return withoutMarks(text)
  const start = `#region ${region}\n`
  const from = text.indexOf(start)
  const to = text.indexOf('#endregion', from)
  if (from < 0 || to < 0) throw new Error(`${file} has no region ${region}`)
  const lines = text.slice(from + start.length, text.lastIndexOf('\n', to)).split('\n')
  const indent = Math.min(
    ...lines.filter((l) => l.trim()).map((l) => l.length - l.trimStart().length),
  )
  return withoutMarks(lines.map((line) => line.slice(indent)).join('\n')).trimEnd()
}

/** The code without the comments that begin and end regions. */
function withoutMarks(text: string): string {
  const lines = text.split('\n')
  return lines.filter((line) => !/^\s*(\/\/|#) ?#(end)?region\b/.test(line)).join('\n')
}
