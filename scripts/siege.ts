/**
 * `npm run siege -- [--seconds 60] [--store memory|sqlite|postgres] [--attack NAME] [--json]`: hostile clients against a
 * real server with a heap of 512 MB, while an honest one calls it; on all three stores if none is named. PostgreSQL is the
 * tests' own, or the one that `CORRAL_TEST_POSTGRES` names by its URL. Exits 1 if the server dies or does not reject an attack
 * as it should, or if the honest client has a failure, a p99 above one second or one answer above three.
 */
import { parseArgs } from 'node:util'
import { besiege, type SiegeOptions, type SiegeReport } from '../test/security/siege/siege.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    store: { type: 'string' },
    attack: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const reports: SiegeReport[] = []
for (const store of storesOf(values.store)) {
  const progress = values.json ? undefined : tell
  const report = await besiege({
    seconds: Number(values.seconds),
    store,
    scale: 1,
    only: values.attack,
    progress,
  })
  reports.push(report)
  if (!values.json) process.stdout.write(toTable(report))
}
if (values.json) process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`)
process.exitCode = reports.every(isHeld) ? 0 : 1

function storesOf(name: string | undefined): readonly SiegeOptions['store'][] {
  const stores = ['memory', 'sqlite', 'postgres'] as const
  if (name === undefined) return stores
  const chosen = stores.filter((store) => store === name)
  if (chosen.length > 0) return chosen
  throw new Error(`--store is ${stores.join(', ')}, not ${name}`)
}

function tell(second: number, rssMb: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${second} s ${rssMb.toFixed(0)} MB `)
}

function isHeld(report: SiegeReport): boolean {
  const { latencies, failures } = report.honest
  const refused = report.attacks.every(({ wrong }) => wrong.length === 0)
  const quick = at(latencies, 0.99) <= 1_000 && at(latencies, 1) <= 3_000
  return report.survived && refused && quick && failures.length === 0
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function toTable(report: SiegeReport): string {
  const { honest, idle, attacks } = report
  const times = ({ latencies }: SiegeReport['honest']): string =>
    [0.5, 0.99, 1].map((share) => `${at(latencies, share).toFixed(0)} ms`).join(', ')
  const rows: readonly (readonly [string, string])[] = [
    ['store', report.store],
    ['server', report.survived ? 'up' : `dead: ${report.lastWords}`],
    ['most memory resident, MB', report.peakRssMb.toFixed(0)],
    ...attacks.map(({ name, outcomes, wrong }): readonly [string, string] => [
      name,
      `${toCounts(outcomes)}${wrong.length > 0 ? `  WRONG: ${wrong.join(', ')}` : ''}`,
    ]),
    ['honest calls, failures', `${honest.calls}, ${honest.failures.length}`],
    ['honest webhooks delivered', String(report.honestHooks)],
    ['honest p50, p99, most', times(honest)],
    ['  the same while idle', times(idle)],
    ['held', isHeld(report) ? 'yes' : 'no'],
  ]
  const failures = honest.failures.slice(0, 5).map((failure) => `  ${failure}`)
  const lines = rows.map(([name, value]) => `${name.padEnd(28)}${value}`)
  return `${[...lines, ...failures].join('\n')}\n\n`
}

function toCounts(outcomes: SiegeReport['attacks'][number]['outcomes']): string {
  return Object.entries(outcomes)
    .map(([outcome, count]) => `${outcome} × ${count}`)
    .join(', ')
}
