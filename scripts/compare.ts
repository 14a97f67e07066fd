/**
 * Compares Corral with the official JavaScript SDK and prints a table in Markdown. Both are installed from packages into new
 * projects, serve the same agent, and are asked the same over bare HTTP.
 *
 *   npm run compare                        everything: some two minutes
 *   npm run compare -- --only kill         one row; may be repeated
 *   npm run compare -- --write             puts the table into docs/compared.md
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Cell } from './compare/cell.ts'
import { durableCell } from './compare/durable.ts'
import { benchCells, codeCell, installCell } from './compare/figures.ts'
import { browserCell, depthCell, filesCell } from './compare/hostile.ts'
import { type Installed, install } from './compare/place.ts'
import { killAll } from './compare/side.ts'
import { statementsCell } from './compare/statements.ts'
import { streamsCell } from './compare/streams.ts'
import { guardCell, retryCell } from './compare/webhooks.ts'
import { wiresCell } from './compare/wires.ts'

const peerVersion = '1.3.0'
const page = join(import.meta.dirname, '../docs/compared.md')
const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, write: { type: 'boolean' } },
})

const cells: readonly Cell[] = [
  wiresCell,
  statementsCell,
  durableCell,
  streamsCell,
  retryCell,
  guardCell,
  browserCell,
  depthCell,
  filesCell,
  codeCell,
  installCell,
  ...benchCells(),
].filter(({ name }) => values.only?.includes(name) ?? true)

const place = await install(peerVersion)
try {
  const table = toTable(place, await rowsOf(place))
  console.log(table)
  if (values.write) writeFileSync(page, withTable(readFileSync(page, 'utf8'), table))
} finally {
  killAll()
  await rm(place.folder, { recursive: true, force: true })
}

async function rowsOf(installed: Installed): Promise<readonly string[]> {
  const rows: string[] = []
  for (const { name, question, how, run } of cells) {
    console.error(`${name} …`)
    const { corral, peer } = await run(installed)
    rows.push(`| ${question} | ${corral} | ${peer} | ${how} |`)
  }
  return rows
}

function toTable({ versions }: Installed, rows: readonly string[]): string {
  const day = new Date().toISOString().slice(0, 10)
  const { corral, peer } = versions
  return [
    `Run on ${day} with Node ${process.versions.node}.`,
    '',
    `| | Corral ${corral} | \`@a2a-js/sdk\` ${peer} | how |`,
    '|---|---|---|---|',
    ...rows,
  ].join('\n')
}

/** The page with its table between the two comments that mark the place. */
function withTable(text: string, table: string): string {
  const [head, , tail] = text.split(/<!-- (?:compare|end of compare) -->/)
  return `${head}<!-- compare -->\n${table}\n<!-- end of compare -->${tail}`
}
