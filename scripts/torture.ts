/**
 * `npm run torture -- --kills 500 [--stops 100] [--seed 7] [--callers 12] [--json]`: kills a real server again and
 * again under load, stops it cleanly in between, and holds what is left against a ledger kept outside. Prints the counts;
 * exits 1 if anything acknowledged was lost.
 *
 * `npm run torture -- --replicas 3 --kills 200 [--seed 7] [--json]`: the same with replicas on one PostgreSQL, one of
 * which is killed, paused or stopped at each point of its work; exits 1 also where the others take too long to go on.
 */
import { parseArgs } from 'node:util'
import { type MatrixReport, tortureReplicas } from '../test/durability/replicas/matrix.ts'
import type { Durations } from '../test/durability/replicas/takeovers.ts'
import { type TortureReport, torture } from '../test/durability/torture.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    stops: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    callers: { type: 'string', default: '12' },
    replicas: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})

const seed = Number(values.seed)
const kills = Number(values.kills)
const callers = Number(values.callers)
const isFine = values.replicas === undefined ? await tortureOne() : await tortureMany()
process.exitCode = isFine ? 0 : 1

function progress(count: number): void {
  if (!values.json && process.stderr.isTTY) process.stderr.write(`\r${count} of ${kills}`)
}

async function tortureOne(): Promise<boolean> {
  const stops = values.stops === undefined ? {} : { stops: Number(values.stops) }
  const report = await torture({ kills, ...stops, seed, callers, progress })
  print(report, toTable(report))
  return report.violations.length === 0
}

async function tortureMany(): Promise<boolean> {
  const replicas = Number(values.replicas)
  const report = await tortureReplicas({ replicas, kills, seed, callers, progress })
  const late = lateIn(report)
  print({ ...report, late }, toReplicaTable(report, late))
  return report.violations.length + late.length === 0
}

function print(report: object, table: string): void {
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : table)
}

function toTable(report: TortureReport): string {
  return toText(report, [
    ['kills with SIGKILL', report.kills],
    ['  of them while starting', report.killsWhileStarting],
    ['  of the server with remote members', report.remoteKills],
    ['clean restarts with SIGTERM', report.stops],
    ['deaths brought about by tasks', report.ownDeaths],
    ...outcomes(report),
  ])
}

function toReplicaTable(report: MatrixReport, late: readonly string[]): string {
  const { blows, points, takeovers } = report
  const rows: readonly Row[] = [
    ['replicas', report.replicas],
    ...Object.entries(blows).map(([blow, count]): Row => [`struck with ${blow}`, count]),
    ...Object.entries(points).map(([point, count]): Row => [`  at the point: ${point}`, count]),
    ['killed besides while starting', report.killsWhileStarting],
    ['taken for dead without being struck', report.falseDeaths],
    ...outcomes(report),
  ]
  const times = [
    ...Object.entries(report.claims).map(([blow, all]) => toTimes(`${blow} → taken over`, all)),
    ...Object.entries(takeovers).map(([blow, all]) => toTimes(`${blow} → next event`, all)),
    toTimes('SIGTERM → process gone', report.drains),
  ]
  return `${toText(report, rows)}${[...times, ...late].join('\n')}\n`
}

function toTimes(name: string, { count, p50, p99, max }: Durations): string {
  return `${name.padEnd(30)} p50 ${p50} ms, p99 ${p99} ms, max ${max} ms (${count})`
}

/** What took longer than it may, by the bounds for replicas with a lease of 1.2 s. */
function lateIn({ takeovers: { SIGKILL }, claims }: MatrixReport): readonly string[] {
  const late: string[] = []
  if (SIGKILL.p99 > 1_000) late.push(`LATE: a stream went on after ${SIGKILL.p99} ms p99`)
  if (SIGKILL.max > 2_000) late.push(`LATE: a stream went on after ${SIGKILL.max} ms`)
  const drained = claims.SIGTERM.p50
  if (drained > 300)
    late.push(`LATE: what a stopping replica ran was taken over after ${drained} ms`)
  return late
}

type Row = readonly [string, number]
type Common = Omit<
  MatrixReport,
  'replicas' | 'blows' | 'points' | 'falseDeaths' | 'claims' | 'takeovers' | 'drains'
>

/** What both kinds of torture count. */
function outcomes(report: Common): readonly Row[] {
  const { counts, audit } = report
  return [
    ['seconds', report.seconds],
    ['answers acknowledged', counts.acknowledged],
    ['requests lost with a kill', counts.lost],
    ['requests refused (as they must be)', counts.refused],
    ['tasks in the store', audit.tasks],
    ['  completed', audit.completed],
    ['  canceled', audit.canceled],
    ['  rejected', audit.rejected],
    ['  waiting for input', audit.inputRequired],
    ['  given up, since they kill the process', audit.givenUp],
    ['  failed, since they cannot resume', audit.unresumable],
    ['  innocent and failed', audit.innocentFailed],
    ['  in the remote server', audit.remoteTasks],
    ['turns taken up again', audit.resumed],
    ['tasks taken over by another replica', audit.claims],
    ['cancels acknowledged', counts.cancels],
    ['answers to questions', counts.answers],
    ['acknowledged tasks read back', counts.reads],
    ['sends repeated with their key', counts.keyedRetries],
    ['steps stored', audit.stepsCommitted],
    ['  that a kill made run again', audit.stepsInterrupted],
    ['records in the logs', audit.records],
    ['events in the logs', audit.events],
    ['streams followed to the end', report.followers],
    ['  resumed with Last-Event-ID', report.reconnects],
    ['events for webhooks', audit.webhookEvents],
    ['  requests to webhooks', audit.webhookRequests],
    ['  dead letters', report.deadLetters],
    ['violations', report.violations.length],
  ]
}

function toText({ seed, violations, folder }: Common, rows: readonly Row[]): string {
  const lines = [['seed', seed] as const, ...rows].map(
    ([name, value]) => `${name.padEnd(40)}${String(value).padStart(8)}`,
  )
  const kept = violations.length > 0 ? [`files: ${folder}`] : []
  return `${[...lines, ...violations.slice(0, 50), ...kept].join('\n')}\n`
}
