import { type Clock, systemClock, toTimestamp } from '../../shared/clock.ts'
import { newId } from '../../shared/ids.ts'
import type { Logger } from '../../shared/log.ts'
import {
  type AgentUnderTest,
  createAgentUnderTest,
  type Endpoint,
  timeLimit,
} from '../agent/under-test.ts'
import { messageOf, round, type Turnstile } from '../base.ts'
import {
  type AgentInput,
  type ConversationMessage,
  type Environment,
  isToolCall,
  type Requestor,
  type SpokenMessage,
  spoken,
  type ToolCall,
  type ToolMessage,
} from '../domain/domain.ts'
import { historyOf, refusedCall } from '../domain/replay.ts'
import {
  costOf,
  createCollector,
  type PriceTable,
  type ProtocolMetrics,
  summarise,
  type TokenCounter,
  toDict,
} from '../metrics.ts'
import {
  type A2AAgentState,
  isMeasured,
  type Simulation,
  SimulationFault,
  type TerminationReason,
} from '../results/simulation.ts'
import { scoreConversation } from '../scorers/built-in.ts'
import { isStop, type User } from '../users.ts'
import type { MetricsLog } from './journal.ts'
import type { AttemptedJob, EvaluationBounds, EvaluationPlan, Job } from './plan.ts'

/** What all simulations of a run share: its plan, and what measures it. */
export interface SimulationContext extends EvaluationPlan {
  readonly endpoint: Endpoint
  readonly counter: TokenCounter
  readonly turnstile: Turnstile
  /** Bounds how much is held of what is said. */
  readonly takeRoom: EvaluationBounds['takeRoom']
  /** Where every request's record is written as it comes. */
  readonly metricsLog: MetricsLog
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

/** When it began, by the time of day and by the monotonic clock. */
interface Start {
  readonly at: number
  readonly elapsed: number
}

async function play(
  context: SimulationContext,
  job: AttemptedJob,
  started: Start,
): Promise<Simulation> {
  const { domain, signal, clock, taskTimeout } = context
  await context.turnstile()
  const environment = await domain.open(job.task)
  // No simulation may hold up the run.
  const late = `The simulation took longer than ${taskTimeout} s`
  const limit = timeLimit(clock, taskTimeout, () => new SimulationFault('timeout', late))
  try {
    const { trial, seed, task } = job
    const history = historyOf(task)
    const briefing = { task, trial, seed, tools: environment.userTools, history }
    const user = context.user.start({ ...briefing, prompts: domain.prompts })
    const metrics = createCollector({
      endpoint: context.config.endpoint,
      clock,
      onRecord: (record) => context.metricsLog.write(record, job),
    })
    const { endpoint, strict, log, counter, turnstile } = context
    const introduction = { policy: domain.policy, tools: environment.tools }
    const measuring = { metrics, log, clock, counter, turnstile }
    const agent = createAgentUnderTest({ endpoint, introduction, strict, ...measuring })
    const either = AbortSignal.any([signal, limit.signal])
    const said = await converse({ ...context, agent, user, environment, history, signal: either })
    return await finish(context, job, { said, agent, user, started })
  } finally {
    limit.clear()
    await environment.close()
  }
}

interface SimulationEnd {
  readonly said: Conversation
  readonly agent?: AgentUnderTest
  readonly user?: User
  readonly started: Start
}

async function finish(
  context: SimulationContext,
  job: Job,
  outcome: SimulationEnd,
): Promise<Simulation> {
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

/** What a conversation needs. */
export interface ConversationOptions {
  readonly agent: AgentUnderTest
  readonly user: User
  readonly environment: Environment
  /** What was said before the simulation begins. */
  readonly history?: readonly ConversationMessage[]
  /** The most messages. */
  readonly maxSteps: number
  /** The most tool errors. */
  readonly maxErrors: number
  readonly signal: AbortSignal
  /** Where it tells what it does. */
  readonly log: Logger
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Bounds how much is held of what is said; it has no bound if absent. */
  readonly takeRoom?: EvaluationBounds['takeRoom']
}

/** A conversation that is over. */
export interface Conversation {
  readonly messages: readonly ConversationMessage[]
  /** How it ended. */
  readonly termination: TerminationReason
  /** Why, where that is a fault. */
  readonly error?: string
  /** What is remembered of the agent. */
  readonly state: A2AAgentState | undefined
}

/** Lets agent and user talk until one stops, fails, or a limit is reached. It never rejects for their faults. */
export function converse(options: ConversationOptions): Promise<Conversation> {
  return new Talk(options).run()
}

type NextTurn =
  | { readonly to: 'agent' | 'user'; readonly input: AgentInput }
  | { readonly to: 'environment'; readonly calls: readonly ToolCall[]; readonly caller: Requestor }

/** The agent's first words, which every conversation begins with. */
export const greeting = 'Hi! How can I help you today?'

/**
 * The turn rules of tau2. The conversation opens with the agent's greeting, so the user speaks first. The side that calls
 * tools gets their results back before the other one speaks; every call runs in order, here and never in the agent.
 * Each turn counts as a step, those of the environment too; limits are checked whenever agent or user is to speak next.
 * Errors are counted in all, not in a row.
 */
class Talk {
  readonly #options: ConversationOptions
  readonly #clock: Clock
  readonly #messages: ConversationMessage[] = []
  #agentState: A2AAgentState | undefined

  constructor(options: ConversationOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  async run(): Promise<Conversation> {
    const { signal, agent } = this.#options
    const before = this.#options.history
    const history = before?.length ? before : [spoken('assistant', greeting)]
    for (const message of history) this.#note(message)
    const messages = this.#messages
    try {
      this.#agentState = await agent.getInitState(beforeInput(history))
      const termination = await this.#takeTurns(firstTurn(history))
      return { messages, termination, state: this.#agentState }
    } catch (error) {
      const fault = toFault(signal.aborted ? signal.reason : error)
      const sent = error instanceof SimulationFault ? error.state : undefined
      return {
        messages,
        termination: fault.termination,
        error: fault.message,
        state: sent ?? this.#agentState,
      }
    }
  }

  /** @throws SimulationFault where there is no room for it. */
  #note(message: ConversationMessage): void {
    const { takeRoom } = this.#options
    if (takeRoom && !takeRoom(charactersOf(message)))
      throw new SimulationFault('agent_error', 'The conversations are longer than may be kept')
    const turn_idx = this.#messages.length
    const placed = { ...message, turn_idx, timestamp: toTimestamp(this.#clock.now()) }
    this.#messages.push(placed)
    this.#options.user.observe?.(placed)
  }

  async #takeTurns(first: NextTurn): Promise<TerminationReason> {
    const { signal, environment, maxSteps, maxErrors } = this.#options
    let turn = first
    let errors = 0
    for (let steps = 1; ; steps++) {
      signal.throwIfAborted()
      if (turn.to === 'environment') {
        const results = await this.#runTools(turn.calls)
        errors += results.filter(({ error }) => error).length
        turn = { to: turn.caller === 'user' ? 'user' : 'agent', input: results }
      } else {
        const { to, input } = turn
        const message = await (to === 'user' ? this.#askUser(input) : this.#askAgent(input))
        if (message.role === 'user' && !isToolCall(message) && isStop(message.content))
          return 'user_stop'
        turn = turnAfter(message)
      }
      await environment.sync()
      if (turn.to === 'environment') continue
      if (steps >= maxSteps) return 'max_steps'
      if (errors >= maxErrors) return 'too_many_errors'
    }
  }

  /** Executes calls in order. One that cannot be executed is logged and answered with an error instead. */
  async #runTools(calls: readonly ToolCall[]): Promise<readonly ToolMessage[]> {
    const { environment, log } = this.#options
    const results: ToolMessage[] = []
    for (const call of calls) {
      const { id, name, requestor, fault } = call
      const outcome = fault === undefined ? await environment.call(call) : refusedCall(fault)
      if (outcome.refused)
        log.warn({ tool: name, id, problem: outcome.content }, 'tool call refused')
      const result: ToolMessage = { id, role: 'tool', name, requestor, ...outcome }
      this.#note(result)
      results.push(result)
    }
    return results
  }

  async #askUser(input: AgentInput): Promise<SpokenMessage> {
    const { user, signal } = this.#options
    const message = await user.next(input, signal).catch((error) => {
      throw error instanceof SimulationFault
        ? error
        : new SimulationFault('user_error', messageOf(error))
    })
    if (!message.content && !isToolCall(message))
      throw new SimulationFault('user_error', 'The user said nothing')
    this.#note(message)
    return message
  }

  async #askAgent(input: AgentInput): Promise<SpokenMessage> {
    const { agent, signal } = this.#options
    if (!this.#agentState) throw new SimulationFault('unexpected_error', 'The agent has no state')
    const [message, state] = await agent.generateNextMessage(input, this.#agentState, signal)
    this.#agentState = state
    this.#note(message)
    return message
  }
}

function charactersOf(message: ConversationMessage): number {
  const calls = 'tool_calls' in message ? message.tool_calls : undefined
  return (message.content?.length ?? 0) + (calls ? JSON.stringify(calls).length : 0)
}

/** The history without what the agent is about to get as new. */
function beforeInput(history: readonly ConversationMessage[]): readonly ConversationMessage[] {
  const last = history.at(-1)
  if (last?.role === 'tool')
    return history.slice(0, history.length - trailingResults(history).length)
  return last?.role === 'user' && !isToolCall(last) ? history.slice(0, -1) : history
}

function trailingResults(history: readonly ConversationMessage[]): readonly ToolMessage[] {
  const from = history.findLastIndex((message) => message.role !== 'tool') + 1
  return history.slice(from).filter((message): message is ToolMessage => message.role === 'tool')
}

/** The turn after a history: of the side that was spoken to, or that has the results of its tools. */
function firstTurn(history: readonly ConversationMessage[]): NextTurn {
  const last = history.at(-1)
  if (!last) throw new SimulationFault('unexpected_error', 'The history is empty')
  if (last.role !== 'tool') return turnAfter(last)
  const results = trailingResults(history)
  return { to: last.requestor === 'user' ? 'user' : 'agent', input: results }
}

function turnAfter(message: SpokenMessage): NextTurn {
  if (isToolCall(message))
    return { to: 'environment', calls: message.tool_calls ?? [], caller: message.role }
  return { to: message.role === 'user' ? 'agent' : 'user', input: message }
}

function toFault(thrown: unknown): SimulationFault {
  if (thrown instanceof SimulationFault) return thrown
  return new SimulationFault('unexpected_error', messageOf(thrown), { cause: thrown })
}
