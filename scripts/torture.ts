/**
 * `npm run torture -- --kills 500 [--stops 100] [--seed 7] [--callers 12] [--json]`: kills a real server again and
 * again under load, stops it cleanly in between, and holds what is left against a ledger kept outside. Prints the counts;
 * exits 1 if anything acknowledged was lost.
 */
import { parseArgs } from 'node:util'
import { type TortureReport, torture } from '../test/durability/torture.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    stops: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    callers: { type: 'string', default: '12' },
    json: { type: 'boolean', default: false },
  },
})

const report = await torture({
  kills: Number(values.kills),
  ...(values.stops !== undefined && { stops: Number(values.stops) }),
  seed: Number(values.seed),
  callers: Number(values.callers),
  progress(kills) {
    if (!values.json && process.stderr.isTTY) process.stderr.write(`\r${kills} of ${values.kills}`)
  },
})
process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : toTable(report))
process.exitCode = report.violations.length === 0 ? 0 : 1

function toTable(report: TortureReport): string {
  const { counts, audit, violations } = report
  const rows: readonly (readonly [string, number])[] = [
    ['seed', report.seed],
    ['kills with SIGKILL', report.kills],
    ['  of them while starting', report.killsWhileStarting],
    ['  of the server with remote members', report.remoteKills],
    ['clean restarts with SIGTERM', report.stops],
    ['deaths brought about by tasks', report.ownDeaths],
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
    ['violations', violations.length],
  ]
  const lines = rows.map(([name, value]) => `${name.padEnd(40)}${String(value).padStart(8)}`)
  const kept = violations.length > 0 ? [`files: ${report.folder}`] : []
  return `${[...lines, ...violations.slice(0, 50), ...kept].join('\n')}\n`
}
