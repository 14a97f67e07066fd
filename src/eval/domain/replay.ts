import { sameJson, tryParse } from '../base/json.ts'
import { type ConversationMessage, isToolCall, type ToolMessage } from './conversation.ts'
import type { Environment } from './environment.ts'

/** A call that gave something else than it is recorded to have given. */
export interface Difference {
  readonly name: string
  readonly recorded: string
  readonly content: string
}

/**
 * Does again what a conversation did to its world: every call that changes something, in order. Reads, unknown tools
 * and calls that were refused are left out. Gives back the calls whose outcome differs from the recorded one.
 */
export async function replay(
  environment: Environment,
  messages: readonly ConversationMessage[],
): Promise<readonly Difference[]> {
  const results = new Map<string, ToolMessage>()
  for (const message of messages) if (message.role === 'tool') results.set(message.id, message)
  const different: Difference[] = []
  for (const message of messages) {
    if (message.role === 'tool' || !isToolCall(message)) continue
    for (const call of message.tool_calls ?? []) {
      const recorded = results.get(call.id)
      if (recorded?.refused || environment.kindOf(call.name, call.requestor) !== 'write') continue
      const { content } = await environment.call(call)
      if (recorded && !sameContent(content, recorded.content))
        different.push({ name: call.name, recorded: recorded.content, content })
    }
  }
  return different
}

function sameContent(a: string, b: string): boolean {
  return a === b || sameJson(tryParse(a) ?? a, tryParse(b) ?? b)
}
