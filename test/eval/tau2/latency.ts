import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Domain } from '../../../src/eval/domain/domain.ts'
import type { LoopLag } from '../../../src/eval/metrics.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { goldenUser } from '../../../src/eval/users.ts'

/** What a run reports of an agent's latency, beside what the agent's own clock says. */
export interface LatencyReport {
  readonly simulations: number
  readonly requests: number
  readonly reported: readonly [p50: number, p95: number]
  readonly own: readonly [p50: number, p95: number]
  readonly lag: LoopLag | undefined
}

/** Runs 200 simulations, 50 at a time, against an agent in another process that takes 30 ms for an answer. */
export async function measureLatency(domain: Domain): Promise<LatencyReport> {
  const child = fork(fileURLToPath(new URL('slow-agent.mjs', import.meta.url)), { execArgv: [] })
  const [url] = await once(child, 'message')
  try {
    const taskIds = domain.tasks.slice(0, 50).map(({ id }) => id)
    const results = await runEvaluation({
      agent: { endpoint: url },
      domain,
      user: goldenUser,
      taskIds,
      numTrials: Math.ceil(200 / taskIds.length),
      maxConcurrency: 50,
    })
    const own: number[] = await (await fetch(`${url}/clock`)).json()
    const records = results.simulations.flatMap((one) => one.protocol_metrics)
    return {
      simulations: results.simulations.length,
      requests: records.length,
      reported: percentiles(records.map((one) => one.latency_ms)),
      own: percentiles(own),
      lag: results.harness_lag,
    }
  } finally {
    child.kill()
  }
}

function percentiles(values: readonly number[]): readonly [number, number] {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  return [at(0.5), at(0.95)]
}
