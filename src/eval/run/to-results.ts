import type { AgentCard } from '../../protocol/types.ts'
import type { Endpoint } from '../agent/endpoint.ts'
import type { EvalTask } from '../domain/task.ts'
import { toDict } from '../metrics/metrics.ts'
import type { PriceTable } from '../metrics/prices.ts'
import type { EvalInfo, EvalResults } from '../results/results.ts'
import type { Simulation } from '../results/simulation.ts'
import { summariseRun } from '../results/summary.ts'
import { doNothingBaseline } from './baseline.ts'
import type { JournalHead } from './journal.ts'
import type { Plan } from './plan.ts'

/** A run that is over. */
export interface Finished {
  readonly endpoint: Endpoint
  readonly head: JournalHead
  readonly simulations: readonly Simulation[]
  readonly prices: PriceTable | undefined
}

/** The document of a finished run. */
export async function toResults(plan: Plan, finished: Finished): Promise<EvalResults> {
  const { endpoint, head, simulations, prices } = finished
  const baseline = await doNothingBaseline(plan.domain, plan.tasks)
  const discovery_metrics = endpoint.discoveryMetrics().map(toDict)
  return {
    format: 'corral-eval/1',
    id: head.id,
    timestamp: head.timestamp,
    info: toInfo(plan, await endpoint.discover()),
    tasks: plan.tasks.map(withoutScript),
    simulations,
    baseline,
    discovery_metrics,
    summary: summariseRun({ simulations, baseline, discovery_metrics }, prices),
  }
}

function toInfo(plan: Plan, card: AgentCard): EvalInfo {
  const { domain, user, config } = plan
  return {
    num_trials: plan.numTrials,
    max_steps: plan.maxSteps,
    max_errors: plan.maxErrors,
    seed: plan.seed,
    strict: plan.strict,
    user_info: { implementation: user.kind, llm: user.model ?? null },
    agent_info: {
      implementation: 'a2a_agent',
      endpoint: config.endpoint,
      name: card.name,
      version: card.version,
    },
    environment_info: { domain_name: domain.name, policy: domain.policy },
    config_hash: plan.hash,
  }
}

/** A script is how the user was played, not what the task is; it stays in the domain. */
function withoutScript({ user_script: _, ...task }: EvalTask): EvalTask {
  return task
}
