import type { A2AClient } from '../../client/client.ts'
import type { Message, Task } from '../../protocol/types.ts'
import { type Clock, systemClock } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import type { Turnstile } from '../base/turnstile.ts'
import {
  type AgentInput,
  type ConversationMessage,
  isResults,
  type SpokenMessage,
  spoken,
} from '../domain/conversation.ts'
import type { MetricsCollector } from '../metrics/collector.ts'
import { estimator, type TokenCounter } from '../metrics/tokens.ts'
import { SimulationFault } from '../results/fault.ts'
import { type AskContext, askAgent } from './ask.ts'
import type { Endpoint } from './endpoint.ts'
import { fromA2A, type NextIds, nextIds } from './incoming.ts'
import { type Introduction, toA2A } from './outgoing.ts'
import { type A2AAgentState, initialState } from './state.ts'

/** The agent under test in one simulation. */
export interface AgentUnderTest {
  /** Makes a fresh state: no context yet, the discovered card, the conversation so far. */
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
  /** What its requests measured. */
  readonly metrics: MetricsCollector
  /** Lists what a reader of the score should know. */
  warnings(): readonly string[]
}

/** What an agent under test is made of. */
export interface AgentUnderTestOptions {
  /** The way to the agent. */
  readonly endpoint: Endpoint
  /** What its first message brings. */
  readonly introduction: Introduction
  /** Measures its requests. */
  readonly metrics: MetricsCollector
  readonly log: Logger
  /** Where time comes from; the machine's own if absent. */
  readonly clock?: Clock
  /** Counts tokens where the agent does not report them. */
  readonly counter?: TokenCounter
  /** What comes after an answer waits here, so that the answers to others are not measured late. */
  readonly turnstile?: Turnstile
  /** Accept tool calls only as `{"tool_call": …}`, and never words beside them. */
  readonly strict?: boolean
}

/** Makes the agent under test for one simulation. */
export function createAgentUnderTest(options: AgentUnderTestOptions): AgentUnderTest {
  const { endpoint, introduction, metrics, log, strict = false } = options
  let opened: Promise<A2AClient> | undefined
  const client = (): Promise<A2AClient> => (opened ??= endpoint.client(metrics))
  const context: AskContext = { clock: systemClock, counter: estimator, ...options, client }
  const warnings = new Set<string>()

  return {
    async getInitState(history = []) {
      return initialState(history, await endpoint.discover())
    },
    async generateNextMessage(input, state, signal) {
      const message = toA2A(input, state, introduction)
      log.debug({ message, contextId: state.contextId }, 'to the agent')
      const sent = { ...state, requestCount: state.requestCount + 1 }
      try {
        const answer = await askAgent(context, { message, state, signal })
        log.debug({ answer }, 'from the agent')
        const next = nextIds(answer)
        if (state.contextId !== undefined && next.contextId !== state.contextId)
          warnings.add(`The agent changed its context from ${state.contextId} to ${next.contextId}`)
        const reply = toSpoken(answer, state, strict)
        return [reply, stateAfter(sent, [...(isResults(input) ? input : [input]), reply], next)]
      } catch (error) {
        throw withState(error, sent)
      }
    },
    metrics,
    warnings: () => [...warnings],
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

/** The state after an answer; the context is the one that the first answer named. */
function stateAfter(
  state: A2AAgentState,
  said: readonly ConversationMessage[],
  next: NextIds,
): A2AAgentState {
  return {
    ...state,
    ...next,
    contextId: state.contextId ?? next.contextId,
    conversationHistory: [...state.conversationHistory, ...said],
  }
}

/** A message that failed was sent all the same: its fault carries the state that counts it. */
function withState(thrown: unknown, state: A2AAgentState): unknown {
  if (!(thrown instanceof SimulationFault)) return thrown
  return new SimulationFault(thrown.termination, thrown.message, { cause: thrown.cause, state })
}
