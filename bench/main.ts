/**
 * `npm run bench`: Corral, @a2a-js/sdk and bare node:http, interleaved, each in a fresh process. See docs/performance.md.
 *
 * --quick      every case once, under two minutes; nothing is written
 * --case NAME  only this case; may be repeated
 * --json       the results as JSON on standard output and nothing else
 * --prof       instead of measuring, name the hottest functions of each case's server
 * --against R  instead of measuring against the floor, compare with the revision R, in turn
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { withTemporary } from '../scripts/temporary.ts'
import { type Change, checkOut, compareWith, toChangeLine } from './against.ts'
import type { Bench, Case, Finding } from './case.ts'
import { cases } from './cases.ts'
import { toChart } from './chart.ts'
import { startLoad } from './measure.ts'
import { isWorkload, profile } from './profile.ts'
import { type Row, toLine, toRow } from './report.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    case: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
    prof: { type: 'boolean', default: false },
    against: { type: 'string' },
  },
})
const chosen = choose(values.case)
const load = await startLoad()
const bench: Bench = { load, quick: values.quick, repeats: values.quick ? 1 : 3 }
try {
  if (values.prof) await profileAll(chosen)
  else if (values.against !== undefined) await compareAll(chosen, values.against)
  else report(await measureAll(chosen))
} finally {
  await load.stop()
}

function choose(names: readonly string[]): readonly Case[] {
  const known = cases.map(({ name }) => name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    console.error(`There is no case ${unknown}; there are ${known.join(', ')}`)
    process.exit(2)
  }
  return names.length === 0 ? cases : cases.filter(({ name }) => names.includes(name))
}

async function measureAll(all: readonly Case[]): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (const one of all) {
    const row = toRow(one, await one.run(bench).catch(failure))
    console.error(toLine(row))
    rows.push(row)
  }
  return rows
}

/** A case that cannot run misses its bar; the others still tell theirs. */
function failure(thrown: unknown): Finding {
  console.error(thrown)
  return { ratio: Number.NaN, failed: 1, details: {} }
}

function report(rows: readonly Row[]): void {
  const results = `${JSON.stringify({ cases: rows }, undefined, 2)}\n`
  if (values.json) process.stdout.write(results)
  if (values.quick || values.case.length > 0) return
  writeFileSync(new URL('results.json', import.meta.url), results)
  writeFileSync(new URL('chart.svg', import.meta.url), toChart(rows))
}

function compareAll(all: readonly Case[], revision: string): Promise<void> {
  return withTemporary('against', async (folder) => {
    console.error(`Builds ${revision}`)
    checkOut(revision, folder)
    const changes: Change[] = []
    for (const one of all) {
      try {
        const change = await compareWith(folder, one, bench)
        console.error(change ? toChangeLine(change) : `  ${one.name.padEnd(20)} is new`)
        if (change) changes.push(change)
      } catch (thrown) {
        // The others still tell theirs.
        console.error(thrown)
        console.error(`✗ ${one.name.padEnd(20)} cannot run`)
      }
    }
    if (values.json) process.stdout.write(`${JSON.stringify({ changes }, undefined, 2)}\n`)
  })
}

async function profileAll(all: readonly Case[]): Promise<void> {
  for (const { name, title } of all) {
    if (!isWorkload(name)) continue
    console.log(`\n${title}`)
    for (const line of await profile(bench, name)) console.log(line)
  }
}
