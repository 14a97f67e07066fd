import type { JsonObject } from '../../protocol/types.ts'
import { toAmounts } from '../../protocol/usage.ts'
import type { ModelToolCall, ToolResult } from '../run-tool.ts'
import type { ChatAnswer } from './assembly.ts'

/** Which round of which model an entry of the trace is about, and how long it took. */
interface RoundFacts {
  readonly agent: string
  /** From 0. */
  readonly round: number
  readonly durationMs: number
}

/** What a model writes into its task's trace when it has answered; tools that it wants are named in `calls`. */
export function modelEntry(
  { agent, ...facts }: RoundFacts,
  model: string,
  answer: ChatAnswer,
): JsonObject {
  const { finish, usage, text } = answer
  const calls = answer.toolCalls().map(({ name }) => name)
  return {
    type: 'model',
    agent,
    model,
    ...facts,
    ...(finish !== undefined && { finish }),
    ...(usage && toAmounts(usage)),
    ...(text !== '' && { text: cut(text) }),
    ...(calls.length > 0 && { calls: calls.slice(0, maxCalls).map(cut) }),
  }
}

/** What it writes when a tool has run: the arguments as the model wrote them, the result as the model reads it. */
export function toolEntry(
  { agent, ...facts }: RoundFacts,
  call: ModelToolCall,
  { content, failed }: ToolResult,
): JsonObject {
  return {
    type: 'tool',
    agent,
    tool: cut(call.name),
    ...facts,
    failed,
    arguments: cut(call.arguments),
    result: cut(content),
  }
}

/** What it writes when the user has answered whether a tool may run: `approved`, `rejected`, or `unclear` and asked again. */
export function approvalEntry(agent: string, call: ModelToolCall, verdict: string): JsonObject {
  return {
    type: 'tool-approval',
    agent,
    tool: cut(call.name),
    verdict,
    arguments: cut(call.arguments),
  }
}

/** As long as any text of a trace may be, and as many names. */
const longest = 2_000
const maxCalls = 64

function cut(text: string): string {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text
}
