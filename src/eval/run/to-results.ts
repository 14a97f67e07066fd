import type { AgentCard } from '../../protocol/types.ts'
import type { Endpoint } from '../agent/endpoint.ts'
import { spoken } from '../domain/conversation.ts'
import type { Domain } from '../domain/environment.ts'
import { historyOf } from '../domain/history.ts'
import type { EvalTask } from '../domain/task.ts'
import type { LoopLag } from '../metrics/lag.ts'
import { toDict } from '../metrics/metrics.ts'
import type { PriceTable } from '../metrics/prices.ts'
import type { EvalInfo, EvalResults, TaskBaseline } from '../results/results.ts'
import type { Simulation } from '../results/simulation.ts'
import { summariseRun } from '../results/summary.ts'
import { scoreConversation } from '../scorers/reward.ts'
import type { Scorer } from '../scorers/scorer.ts'
import { greeting } from './converse.ts'
import type { JournalHead } from './journal.ts'
import type { EvaluationPlan } from './plan.ts'

/** A run that is over. */
interface Finished {
  readonly endpoint: Endpoint
  readonly head: JournalHead
  readonly simulations: readonly Simulation[]
  readonly baseline: readonly TaskBaseline[]
  readonly harness_lag: LoopLag
  readonly prices: PriceTable | undefined
}

/** The document of a finished run. */
export async function toResults(plan: EvaluationPlan, finished: Finished): Promise<EvalResults> {
  const { endpoint, head, simulations, baseline, harness_lag, prices } = finished
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
    harness_lag,
    summary: summariseRun({ simulations, baseline, discovery_metrics }, prices),
  }
}

/**
 * Tells what an agent gets that does nothing while the user ends the call in good order: the floor beside every score.
 * No agent is called and no judge is asked. Null where a task's world does not open.
 */
export async function doNothingBaseline(
  domain: Domain,
  tasks: readonly EvalTask[],
  scorers: readonly Scorer[] = [],
): Promise<readonly TaskBaseline[]> {
  const rewards: TaskBaseline[] = []
  for (const task of tasks) {
    const reward = await idleReward(domain, task, scorers).catch(() => null)
    rewards.push({ task_id: task.id, reward })
  }
  return rewards
}

function toInfo(plan: EvaluationPlan, card: AgentCard): EvalInfo {
  const { domain, user, config } = plan
  return {
    num_trials: plan.numTrials,
    max_steps: plan.maxSteps,
    max_errors: plan.maxErrors,
    seed: plan.seed,
    strict: plan.strict,
    user_info: {
      implementation: user.kind,
      llm: user.model ?? null,
      ...(user.args && { llm_args: user.args }),
    },
    agent_info: {
      implementation: 'a2a_agent',
      endpoint: config.endpoint,
      name: card.name,
      version: card.version,
    },
    environment_info: {
      domain_name: domain.name,
      policy: domain.policy,
      ...(domain.manifest && { manifest: domain.manifest }),
    },
    config_hash: plan.hash,
  }
}

/** A script is how the user was played, not what the task is; it stays in the domain. */
function withoutScript({ user_script: _, ...task }: EvalTask): EvalTask {
  return task
}

async function idleReward(
  domain: Domain,
  task: EvalTask,
  scorers: readonly Scorer[],
): Promise<number | null> {
  const messages = [...historyOf(task), spoken('assistant', greeting), spoken('user', '###STOP###')]
  const signal = new AbortController().signal
  const ended = { messages, termination: 'user_stop', signal } as const
  return (await scoreConversation({ domain, task, scorers, ...ended })).reward
}
