/**
 * `npm run soak -- --minutes 10 [--store sqlite|memory] [--json]`: keeps a real server busy for a while and watches its
 * heap, its handles and its listeners; both stores if none is named. Exits 1 if the heap grows by more than 0.2 MB a
 * minute, or if more is open at the end than after the warm-up.
 */
import { parseArgs } from 'node:util'
import { type SoakOptions, type SoakReport, soak } from '../test/durability/soak.ts'

const maxSlope = 0.2

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    store: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const minutes = Number(values.minutes)
const reports: SoakReport[] = []
for (const store of storesOf(values.store)) {
  const report = await soak({ minutes, store, progress: values.json ? undefined : tell })
  reports.push(report)
  if (!values.json) process.stdout.write(toTable(report))
}
if (values.json) process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`)
process.exitCode = reports.every(isSteady) ? 0 : 1

function storesOf(name: string | undefined): readonly SoakOptions['store'][] {
  if (name === undefined) return ['sqlite', 'memory']
  if (name === 'sqlite' || name === 'memory') return [name]
  throw new Error(`--store is sqlite or memory, not ${name}`)
}

function tell({ minute, heapMb }: { readonly minute: number; readonly heapMb: number }): void {
  if (process.stderr.isTTY)
    process.stderr.write(`\r${minute.toFixed(1)} min ${heapMb.toFixed(2)} MB`)
}

function isSteady({ slopeMbPerMinute, before, after }: SoakReport): boolean {
  return slopeMbPerMinute <= maxSlope && JSON.stringify(before) === JSON.stringify(after)
}

function toTable(report: SoakReport): string {
  const { store, requests, samples, slopeMbPerMinute, before, after } = report
  const rows: readonly (readonly [string, string])[] = [
    ['store', store],
    ['minutes', String(report.minutes)],
    ['answers acknowledged', String(requests)],
    ['heap at the beginning, MB', (samples[0]?.heapMb ?? 0).toFixed(2)],
    ['heap at the end, MB', (samples.at(-1)?.heapMb ?? 0).toFixed(2)],
    ['slope, MB per minute', slopeMbPerMinute.toFixed(3)],
    ['handles, before', JSON.stringify(before.handles)],
    ['handles, after', JSON.stringify(after.handles)],
    ['files and sockets, before', JSON.stringify(before.files)],
    ['files and sockets, after', JSON.stringify(after.files)],
    ['listeners, before and after', `${before.listeners} ${after.listeners}`],
    ['signals, before and after', `${before.signals} ${after.signals}`],
    ['steady', isSteady(report) ? 'yes' : 'no'],
  ]
  return `${rows.map(([name, value]) => `${name.padEnd(40)}${value}`).join('\n')}\n`
}
