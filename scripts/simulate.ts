/**
 * `npm run simulate -- [--seed 7] [--runs 200] [--seconds 60] [--plant BUG] [--trace] [--json]`: lets virtual replicas with
 * the real engine and the real coordination of the PostgreSQL store serve users on one simulated database while processes die
 * and stand still, connections break or fall silent, statements are slow, rows are locked and answers get lost.
 * Each run follows from its seed alone. Prints the seeds of runs in which something happened that must not; exits 1 then.
 * With `--plant` a mistake is built in, and it exits 1 if nothing finds it.
 */
import { parseArgs } from 'node:util'
import { type Bug, bugs } from '../test/simulation/bugs.ts'
import { type SimulationReport, simulate } from '../test/simulation/simulate.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    seconds: { type: 'string' },
    plant: { type: 'string' },
    trace: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})

const bug = bugOf(values.plant)
const first = Number(values.seed ?? Date.now() % 1_000_000)
const runs = Number(values.runs ?? (values.seed === undefined ? Number.POSITIVE_INFINITY : 1))
const seconds = Number(values.seconds ?? (runs < Number.POSITIVE_INFINITY ? runs * 60 : 60))
const ends = performance.now() + seconds * 1_000
const sum = { runs: 0, steps: 0, virtualSeconds: 0, tasks: 0, acknowledged: 0, streams: 0 }
const failures: SimulationReport[] = []

for (let seed = first; sum.runs < runs && performance.now() < ends; seed++) {
  const trace = values.trace ? (line: string): void => void console.error(line) : undefined
  const report = await simulate({ seed, bug, trace })
  sum.runs++
  sum.steps += report.steps
  sum.virtualSeconds += Math.round(report.virtualMs / 1_000)
  sum.tasks += report.counts.tasks
  sum.acknowledged += report.counts.acknowledged
  sum.streams += report.counts.streams
  if (report.violations.length === 0) continue
  failures.push(report)
  if (!values.json) console.log(`seed ${seed}: ${report.violations.join('; ')}`)
  if (bug) break
}

if (values.json) console.log(JSON.stringify({ first, ...sum, bug, failures }, null, 2))
else
  console.log(
    Object.entries({ first, ...sum, failures: failures.length })
      .map(toLine)
      .join('\n'),
  )
process.exitCode = failures.length > 0 === (bug === undefined) ? 1 : 0

function toLine([name, value]: readonly [string, number]): string {
  return `${name.padEnd(20)}${String(value).padStart(10)}`
}

function bugOf(name: string | undefined): Bug | undefined {
  const known = bugs.find((one) => one === name)
  if (name !== undefined && known === undefined)
    throw new Error(`There is no bug ${name}; those to plant are ${bugs.join(', ')}`)
  return known
}
