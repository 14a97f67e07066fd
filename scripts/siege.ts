/**
 * `npm run siege -- [--seconds 60] [--store sqlite|memory] [--attack NAME] [--json]`: hostile clients against a real server with a heap
 * of 512 MB, while an honest one calls it. Exits 1 if the server dies, refuses an attack otherwise than it should, or
 * the honest client has a failure, a p99 above one second or one answer above three.
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
  if (name === undefined) return ['memory', 'sqlite']
  if (name === 'sqlite' || name === 'memory') return [name]
  throw new Error(`--store is sqlite or memory, not ${name}`)
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
  const { honest, attacks } = report
  const ms = (share: number): string => `${at(honest.latencies, share).toFixed(0)} ms`
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
    ['honest p50, p99, most', `${ms(0.5)}, ${ms(0.99)}, ${ms(1)}`],
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
