import type { A2AClient } from '../../client/client.ts'
import { textOf } from '../../protocol/task.ts'
import type { AgentCard, Message, Part, Task } from '../../protocol/types.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import {
  type AgentInput,
  type ConversationMessage,
  type SpokenMessage,
  spoken,
} from '../conversation.ts'
import { A2ATimeoutError, messageOf } from '../errors.ts'
import type { ExchangeTokens, MetricsCollector } from '../metrics/collector.ts'
import { SimulationFault } from '../simulation.ts'
import { type A2AAgentState, initialState } from '../state.ts'
import { estimator, reportedUsage, type TokenCounter } from '../tokens.ts'
import { answerParts, fromA2A, type Introduction, nextIds, toA2A } from '../translate.ts'
import type { Endpoint } from './endpoint.ts'
import { exchange } from './exchange.ts'
import { toFault } from './faults.ts'

/** The agent under test in one simulation (the seed's A2AAgent). */
export interface A2AAgent {
  /** Fresh state: no context yet, the discovered card, the conversation so far. */
  getInitState(history?: readonly ConversationMessage[]): Promise<A2AAgentState>
  /**
   * Sends what is new and gives the answer with the state after it.
   * @throws SimulationFault where the agent, or the way to it, fails.
   */
  generateNextMessage(
    input: AgentInput,
    state: A2AAgentState,
    signal: AbortSignal,
  ): Promise<readonly [SpokenMessage, A2AAgentState]>
  readonly metrics: MetricsCollector
  /** Things that a reader of the score should know. */
  warnings(): readonly string[]
}

/** What an agent is made of. */
export interface A2AAgentOptions {
  readonly endpoint: Endpoint
  readonly introduction: Introduction
  readonly metrics: MetricsCollector
  readonly log: Logger
  readonly clock?: Clock
  readonly counter?: TokenCounter
  /** Accept only the seed's own form of tool calls, and never words beside them. */
  readonly strict?: boolean
}

/** Makes the agent under test for one simulation. */
export function createA2AAgent(options: A2AAgentOptions): A2AAgent {
  const { endpoint, introduction, metrics, log, strict = false } = options
  const { clock = systemClock, counter = estimator } = options
  const warnings: string[] = []

  async function ask(message: Message, state: A2AAgentState, signal: AbortSignal) {
    const client = await endpoint.client(metrics)
    const limit = withLimit(signal, endpoint.config.timeout, clock)
    const measured = metrics.begin()
    let taskId: string | undefined
    try {
      const card = await endpoint.discover()
      const onTask = (id: string): void => {
        taskId = id
      }
      const answer = await exchange(client, { message, card, signal: limit.signal, onTask })
      measured.end(tokensOf(message, answer, state), answer.contextId ?? state.contextId)
      return answer
    } catch (error) {
      measured.fail(error, state.contextId)
      if (limit.signal.aborted && taskId !== undefined) await giveUp(client, taskId, log)
      throw toFault(error, measured.lastStatus())
    } finally {
      limit.clear()
    }
  }

  function tokensOf(sent: Message, answer: Task | Message, state: A2AAgentState): ExchangeTokens {
    const usage = reportedUsage(answer)
    if (usage) return { ...usage, source: 'reported' }
    const read = answerParts(answer, state)
    const [input, output] = [plain(sent.parts), plain(read)].map((text) => counter.count(text))
    return { input: input ?? 0, output: output ?? 0, source: counter.source }
  }

  return {
    async getInitState(history = []) {
      const card: AgentCard = await endpoint.discover()
      return initialState(history, card)
    },
    async generateNextMessage(input, state, signal) {
      const message = toA2A(input, state, introduction)
      log.debug({ message, contextId: state.contextId }, 'to the agent')
      const answer = await ask(message, state, signal)
      log.debug({ answer }, 'from the agent')
      const next = nextIds(answer)
      if (state.contextId !== undefined && next.contextId !== state.contextId)
        warn(
          warnings,
          log,
          `The agent changed its context from ${state.contextId} to ${next.contextId}`,
        )
      const reply = toSpoken(answer, state, strict)
      const heard: readonly ConversationMessage[] = isList(input) ? input : [input]
      return [
        reply,
        {
          ...state,
          ...next,
          contextId: state.contextId ?? next.contextId,
          conversationHistory: [...state.conversationHistory, ...heard, reply],
          requestCount: state.requestCount + 1,
        },
      ]
    },
    metrics,
    warnings: () => warnings,
  }
}

function toSpoken(answer: Task | Message, state: A2AAgentState, strict: boolean): SpokenMessage {
  const { content, calls } = fromA2A(answer, state, { strict })
  if (content === null && calls.length === 0)
    throw new SimulationFault('agent_error', "The agent's answer says nothing")
  if (strict && content !== null && calls.length > 0)
    throw new SimulationFault('agent_error', 'The answer both speaks and calls tools')
  return spoken('assistant', content, calls)
}

/** An answer must come within the config's timeout, however many requests it takes. */
function withLimit(
  outer: AbortSignal,
  seconds: number,
  clock: Clock,
): { signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const cancel = clock.after(seconds * 1000, () =>
    controller.abort(new A2ATimeoutError(`No answer within ${seconds} s`)),
  )
  return { signal: AbortSignal.any([outer, controller.signal]), clear: cancel }
}

/** Tells the agent that nobody waits any more; what comes of it does not matter to the score. */
async function giveUp(client: A2AClient, taskId: string, log: Logger): Promise<void> {
  try {
    await client.cancelTask(taskId, { signal: AbortSignal.timeout(2000) })
  } catch (error) {
    log.debug({ taskId, reason: messageOf(error) }, 'could not cancel an abandoned task')
  }
}

function plain(parts: readonly Part[]): string {
  const data = parts.map((part) => ('data' in part ? JSON.stringify(part.data) : ''))
  return textOf(parts) + data.join('')
}

function warn(warnings: string[], log: Logger, text: string): void {
  if (!warnings.includes(text)) warnings.push(text)
  log.warn({}, text)
}

function isList(input: AgentInput): input is Extract<AgentInput, readonly unknown[]> {
  return Array.isArray(input)
}
