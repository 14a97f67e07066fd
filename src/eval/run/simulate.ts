import { type Clock, toTimestamp } from '../../shared/clock.ts'
import { newId } from '../../shared/ids.ts'
import type { Logger } from '../../shared/log.ts'
import type { Endpoint } from '../agent/endpoint.ts'
import { type AgentUnderTest, createAgentUnderTest } from '../agent/under-test.ts'
import { messageOf } from '../base/errors.ts'
import { round } from '../base/json.ts'
import type { Turnstile } from '../base/turnstile.ts'
import type { Domain, Environment } from '../domain/environment.ts'
import { historyOf } from '../domain/history.ts'
import { createCollector } from '../metrics/collector.ts'
import { type ProtocolMetrics, toDict } from '../metrics/metrics.ts'
import { costOf, type PriceTable } from '../metrics/prices.ts'
import { summarise } from '../metrics/summary.ts'
import type { TokenCounter } from '../metrics/tokens.ts'
import { SimulationFault } from '../results/fault.ts'
import { isMeasured, type Simulation } from '../results/simulation.ts'
import { scoreConversation } from '../scorers/reward.ts'
import type { Judge, Scorer } from '../scorers/scorer.ts'
import type { User, UserSimulator } from '../users/user.ts'
import { type Conversation, converse } from './converse.ts'
import type { AttemptedJob, Job } from './options.ts'

/** What all simulations of a run share. */
export interface SimulationContext {
  readonly domain: Domain
  readonly endpoint: Endpoint
  readonly user: UserSimulator
  readonly judge?: Judge
  readonly scorers: readonly Scorer[]
  readonly prices?: PriceTable
  readonly counter: TokenCounter
  readonly maxSteps: number
  readonly maxErrors: number
  readonly taskTimeout: number
  readonly maxRetries: number
  readonly strict: boolean
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly turnstile: Turnstile
  /** Told of every request's record as it comes. */
  readonly onRecord?: (record: ProtocolMetrics, job: AttemptedJob) => void
}

/** Runs one simulation to its score; again where infrastructure prevented it, and says how often. */
export async function simulate(context: SimulationContext, job: Job): Promise<Simulation> {
  const retries: string[] = []
  const retried_metrics: (readonly ProtocolMetrics[])[] = []
  for (;;) {
    const simulation = await attempt(context, { ...job, attempt: retries.length + 1 })
    context.signal.throwIfAborted()
    if (isMeasured(simulation) || retries.length >= context.maxRetries)
      return { ...simulation, retries, retried_metrics }
    retries.push(simulation.error ?? 'unknown')
    retried_metrics.push(simulation.protocol_metrics)
  }
}

/** A world that does not open, or cannot be scored, costs this simulation and not the run. */
async function attempt(context: SimulationContext, job: AttemptedJob): Promise<Simulation> {
  const started = { at: context.clock.now(), elapsed: context.clock.elapsed() }
  try {
    return await play(context, job, started)
  } catch (error) {
    context.signal.throwIfAborted()
    context.log.error({ task: job.task.id, error: messageOf(error) }, 'simulation failed')
    const said = { messages: [], termination: 'unexpected_error', state: undefined } as const
    return finish(context, job, { said: { ...said, error: messageOf(error) }, started })
  }
}

async function play(
  context: SimulationContext,
  job: AttemptedJob,
  started: Start,
): Promise<Simulation> {
  const { domain, signal } = context
  await context.turnstile()
  const environment = await domain.open(job.task)
  const limit = timeLimit(context)
  try {
    const { trial, seed, task } = job
    const history = historyOf(task)
    const briefing = { task, trial, seed, tools: environment.userTools, history }
    const user = context.user.start({ ...briefing, prompts: domain.prompts })
    const agent = createAgent(context, job, environment.tools)
    const said = await converse({
      ...context,
      agent,
      user,
      environment,
      history,
      signal: AbortSignal.any([signal, limit.signal]),
    })
    return await finish(context, job, { said, agent, user, started })
  } finally {
    limit.clear()
    await environment.close()
  }
}

function createAgent(
  context: SimulationContext,
  job: AttemptedJob,
  tools: Environment['tools'],
): AgentUnderTest {
  const { domain, endpoint, clock, log, counter, strict, turnstile, onRecord } = context
  const metrics = createCollector({
    endpoint: endpoint.config.endpoint,
    clock,
    ...(onRecord && { onRecord: (record) => onRecord(record, job) }),
  })
  const introduction = { policy: domain.policy, tools }
  const around = { log, clock, counter, turnstile }
  return createAgentUnderTest({ endpoint, introduction, metrics, strict, ...around })
}

/** When it began, by the time of day and by the clock that nobody sets. */
interface Start {
  readonly at: number
  readonly elapsed: number
}

interface Ended {
  readonly said: Conversation
  readonly agent?: AgentUnderTest
  readonly user?: User
  readonly started: Start
}

async function finish(context: SimulationContext, job: Job, outcome: Ended): Promise<Simulation> {
  const { said, agent, user, started } = outcome
  const { domain, judge, scorers, prices, signal, clock } = context
  const { messages, termination } = said
  const ended = { at: clock.now(), elapsed: clock.elapsed() }
  await context.turnstile()
  const reward_info = await scoreConversation({
    domain,
    task: job.task,
    messages,
    termination,
    scorers,
    signal,
    ...(judge && { judge }),
  })
  const records = (agent?.metrics.records() ?? []).map(toDict)
  const summary = summarise(records, prices?.agent)
  const contextId = said.state?.contextId
  return {
    id: newId(),
    task_id: job.task.id,
    trial: job.trial,
    seed: job.seed,
    timestamp: toTimestamp(started.at),
    start_time: toTimestamp(started.at),
    end_time: toTimestamp(ended.at),
    duration: round((ended.elapsed - started.elapsed) / 1000, 3),
    termination_reason: termination,
    ...(said.error !== undefined && { error: said.error }),
    agent_cost: summary.estimated_cost_usd ?? null,
    user_cost: userCost(user, prices),
    reward_info,
    messages,
    mode: 'half_duplex',
    ...(contextId !== undefined && { context_id: contextId }),
    request_count: said.state?.requestCount ?? 0,
    protocol_metrics: records,
    metrics_summary: summary,
    warnings: [...(agent?.warnings() ?? []), ...(user?.warnings?.() ?? [])],
    retries: [],
  }
}

function userCost(user: User | undefined, prices: PriceTable | undefined): number | null {
  const usage = user?.usage?.()
  return usage && prices?.user ? round(costOf(usage, prices.user), 6) : null
}

/** No simulation may hold up the run: after the limit it ends as `timeout`. */
function timeLimit({ taskTimeout, clock }: SimulationContext): {
  signal: AbortSignal
  clear(): void
} {
  const controller = new AbortController()
  const fault = new SimulationFault('timeout', `The simulation took longer than ${taskTimeout} s`)
  return {
    signal: controller.signal,
    clear: clock.after(taskTimeout * 1000, () => controller.abort(fault)),
  }
}
