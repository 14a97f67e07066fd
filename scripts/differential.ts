/**
 * `npm run differential -- --against REV [--requests 40000] [--seed 1] [--only AREA]`: proves that this tree and another
 * revision behave the same, byte for byte. Both builds get the same generated requests, scenarios, crashes and command lines;
 * what they answer is compared. `--against-dir DIR` takes a folder that is already built, `--this-dir DIR` another one than this
 * tree for the side that is judged. Prints a table and the first differences; exits 1 if there are any.
 *
 * Areas: doors, agents, stores, recovery, cli. The header of `differential/still.ts` says why two runs can be equal at all,
 * `differential/ledger.ts` what is taken out of the answers before they are compared.
 */
import { parseArgs } from 'node:util'
import { checkOut } from '../bench/against.ts'
import { here } from '../bench/processes.ts'
import { compareCli } from './differential/cli.ts'
import { compareCombinations } from './differential/combinations.ts'
import { compareDoors } from './differential/doors.ts'
import { compareRecovery, compareStores } from './differential/durable.ts'
import { type AreaCount, type Difference, Ledger, toDiff } from './differential/ledger.ts'
import type { Setup } from './differential/sides.ts'
import { withTemporary } from './temporary.ts'

const areas: Readonly<Record<string, (setup: Setup) => Promise<void>>> = {
  doors: compareDoors,
  agents: compareCombinations,
  stores: compareStores,
  recovery: compareRecovery,
  cli: compareCli,
}

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    'against-dir': { type: 'string' },
    'this-dir': { type: 'string', default: here },
    requests: { type: 'string', default: '40000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
})

const shown = 10
const progressMs = 3_000
const ledger = new Ledger()
const began = Date.now()
await withTemporary('differential', async (folder) => {
  const setup: Setup = {
    roots: [otherBuild(`${folder}/other`), values['this-dir']],
    ledger,
    folder,
    seed: Number(values.seed),
    requests: Number(values.requests),
    progress: createProgress(),
  }
  // The doors keep the processors busy, the rest waits more than it works: both take as long as the longer one.
  const isDoors = (area: string): boolean => area === 'doors'
  const run = async (chosen: readonly string[]): Promise<void> => {
    for (const area of chosen) await areas[area]?.({ ...setup, ledger: ledger.fork() })
  }
  const chosen = chosenAreas()
  await Promise.all([run(chosen.filter(isDoors)), run(chosen.filter((area) => !isDoors(area)))])
})
process.stdout.write(`${toTable(ledger.counts)}\n`)
for (const difference of ledger.differences.slice(0, shown))
  process.stdout.write(toReport(difference))
process.exitCode = ledger.differences.length === 0 ? 0 : 1

function otherBuild(folder: string): string {
  const { against, 'against-dir': built } = values
  if (built !== undefined) return built
  if (against === undefined)
    throw new Error('Name the other build: --against REV or --against-dir DIR')
  process.stderr.write(`Building ${against}\n`)
  checkOut(against, folder)
  return folder
}

function chosenAreas(): readonly string[] {
  const { only } = values
  if (only === undefined) return Object.keys(areas)
  if (!Object.hasOwn(areas, only))
    throw new Error(`--only is one of ${Object.keys(areas).join(', ')}, not ${only}`)
  return [only]
}

function createProgress(): Setup['progress'] {
  let last = 0
  return (area, done, of) => {
    if (Date.now() - last < progressMs) return
    last = Date.now()
    const seconds = Math.round((last - began) / 1_000)
    process.stderr.write(
      `${seconds} s  ${area}  ${done} of ${of}, ${ledger.differences.length} differences\n`,
    )
  }
}

function toTable(counts: ReadonlyMap<string, AreaCount>): string {
  const total = { cases: 0, requests: 0, bytes: 0, differences: 0 }
  for (const count of counts.values()) {
    total.cases += count.cases
    total.requests += count.requests
    total.bytes += count.bytes
    total.differences += count.differences
  }
  const rows = [...counts, ['total', total] as const].map(([area, count]) =>
    [area, count.cases, count.requests, count.bytes, count.differences]
      .map((cell, i) => String(cell)[i === 0 ? 'padEnd' : 'padStart'](i === 0 ? 24 : 13))
      .join(''),
  )
  const head = [
    'area'.padEnd(24),
    ...['cases', 'requests', 'bytes', 'differences'].map((word) => word.padStart(13)),
  ].join('')
  return [head, ...rows, `${Math.round((Date.now() - began) / 1_000)} s, seed ${values.seed}`].join(
    '\n',
  )
}

function toReport({ area, asked, before, after }: Difference): string {
  const indented = asked.split('\n').map((line) => `  ${line}`)
  return `\n${area}: the other build (-) and this one (+) differ\n${indented.join('\n')}\n${toDiff(before, after)}\n`
}
