/**
 * The turn rules of tau2. The conversation opens with the agent's greeting, so the user speaks first. Whoever calls
 * tools gets their results back before anybody else speaks; every call runs in order, here and never in the agent.
 * Each turn counts as a step, those of the environment too; limits are checked whenever somebody is to speak next.
 * Errors are counted in all, not in a row.
 */
import { type Clock, systemClock, toTimestamp } from '../../shared/clock.ts'
import type { Logger } from '../../shared/log.ts'
import type { A2AAgentState } from '../agent/state.ts'
import type { AgentUnderTest } from '../agent/under-test.ts'
import { messageOf } from '../base/errors.ts'
import { refusedCall } from '../domain/call-check.ts'
import {
  type AgentInput,
  type ConversationMessage,
  isToolCall,
  type Requestor,
  type SpokenMessage,
  spoken,
  type ToolCall,
  type ToolMessage,
} from '../domain/conversation.ts'
import type { Environment } from '../domain/environment.ts'
import { SimulationFault, type TerminationReason } from '../results/fault.ts'
import { isStop, type User } from '../users/user.ts'

/** The agent's first words, which every conversation begins with. */
export const greeting = 'Hi! How can I help you today?'

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

/** Lets agent and user talk until somebody stops, fails, or a limit is reached. It never rejects for their faults. */
export async function converse(options: ConversationOptions): Promise<Conversation> {
  const { signal, user, clock = systemClock } = options
  const messages: ConversationMessage[] = []
  const note = (message: ConversationMessage): void => {
    const placed = { ...message, turn_idx: messages.length, timestamp: toTimestamp(clock.now()) }
    messages.push(placed)
    user.observe?.(placed)
  }
  const talk: Talk = { ...options, clock, note, agentState: undefined }
  const history = options.history?.length ? options.history : [spoken('assistant', greeting)]
  history.forEach(note)
  try {
    talk.agentState = await options.agent.getInitState(beforeInput(history))
    const termination = await play(talk, firstTurn(history))
    return { messages, termination, state: talk.agentState }
  } catch (error) {
    const fault = toFault(signal.aborted ? signal.reason : error)
    const sent = error instanceof SimulationFault ? error.state : undefined
    return {
      messages,
      termination: fault.termination,
      error: fault.message,
      state: sent ?? talk.agentState,
    }
  }
}

interface Talk extends ConversationOptions {
  readonly clock: Clock
  readonly note: (message: ConversationMessage) => void
  agentState: A2AAgentState | undefined
}

/** Who acts next, and on what. */
type Turn =
  | { readonly to: 'agent' | 'user'; readonly input: AgentInput }
  | { readonly to: 'environment'; readonly calls: readonly ToolCall[]; readonly caller: Requestor }

async function play(talk: Talk, first: Turn): Promise<TerminationReason> {
  const run = createToolRun(talk)
  let turn = first
  let errors = 0
  for (let steps = 1; ; steps++) {
    talk.signal.throwIfAborted()
    if (turn.to === 'environment') {
      const results = await run(turn.calls)
      errors += results.filter(({ error }) => error).length
      turn = { to: turn.caller === 'user' ? 'user' : 'agent', input: results }
    } else {
      const message = await (turn.to === 'user' ? askUser : askAgent)(talk, turn.input)
      if (message.role === 'user' && !isToolCall(message) && isStop(message.content))
        return 'user_stop'
      turn = turnAfter(message)
    }
    await talk.environment.sync()
    if (turn.to === 'environment') continue
    if (steps >= talk.maxSteps) return 'max_steps'
    if (errors >= talk.maxErrors) return 'too_many_errors'
  }
}

async function askUser(talk: Talk, input: AgentInput): Promise<SpokenMessage> {
  const message = await talk.user.next(input, talk.signal).catch((error) => {
    throw error instanceof SimulationFault
      ? error
      : new SimulationFault('user_error', messageOf(error))
  })
  if (!message.content && !isToolCall(message))
    throw new SimulationFault('user_error', 'The user said nothing')
  talk.note(message)
  return message
}

async function askAgent(talk: Talk, input: AgentInput): Promise<SpokenMessage> {
  if (!talk.agentState) throw new SimulationFault('unexpected_error', 'The agent has no state')
  const [message, state] = await talk.agent.generateNextMessage(input, talk.agentState, talk.signal)
  talk.agentState = state
  talk.note(message)
  return message
}

/** Executes calls in order. One that cannot be executed is logged and answered with an error instead. */
function createToolRun({ environment, note, log }: Talk) {
  return async (calls: readonly ToolCall[]): Promise<readonly ToolMessage[]> => {
    const results: ToolMessage[] = []
    for (const call of calls) {
      const { id, name, requestor, fault } = call
      const outcome = fault === undefined ? await environment.call(call) : refusedCall(fault)
      if (outcome.refused)
        log.warn({ tool: name, id, problem: outcome.content }, 'tool call refused')
      const result: ToolMessage = { id, role: 'tool', name, requestor, ...outcome }
      note(result)
      results.push(result)
    }
    return results
  }
}

function turnAfter(message: SpokenMessage): Turn {
  if (isToolCall(message))
    return { to: 'environment', calls: message.tool_calls ?? [], caller: message.role }
  return { to: message.role === 'user' ? 'agent' : 'user', input: message }
}

/** Whose turn follows a history: that of whoever was spoken to, or whose tools have answered. */
function firstTurn(history: readonly ConversationMessage[]): Turn {
  const last = history.at(-1)
  if (!last) throw new SimulationFault('unexpected_error', 'The history is empty')
  if (last.role !== 'tool') return turnAfter(last)
  const results = trailingResults(history)
  return { to: last.requestor === 'user' ? 'user' : 'agent', input: results }
}

/** The history without what the agent is about to be told as new. */
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

function toFault(thrown: unknown): SimulationFault {
  if (thrown instanceof SimulationFault) return thrown
  return new SimulationFault('unexpected_error', messageOf(thrown), { cause: thrown })
}
