import { isObject, tryParseSaid } from '../base/json.ts'
import { type ChatMessage, type ChatModel, complete } from '../base/model.ts'
import {
  type SpokenMessage,
  spoken,
  type ToolCall,
  type ToolMessage,
} from '../domain/conversation.ts'
import { scenarioText, type User, type UserBriefing, type UserSimulator } from './user.ts'

const guidelines = `You play a customer who contacts a service desk. Follow the scenario below.
- Write one message at a time, in your own words, as a customer would.
- Tell only what the scenario tells you, and only when it is asked for or needed. Never invent facts.
- When your wish is fulfilled or clearly refused, end with ###STOP###.
- When you are handed over to somebody else, write ###TRANSFER###.
- When the scenario does not tell you enough to go on, write ###OUT-OF-SCOPE###.`

/** A model plays the user, from the task's scenario and the user's own tools. */
export function createLlmUser(model: ChatModel): UserSimulator {
  return {
    kind: 'llm',
    model: model.model,
    refuses: (task) => (task.user_scenario ? undefined : `Task ${task.id} has no user_scenario`),
    start: (briefing) => createPlayer(model, briefing),
  }
}

function createPlayer(model: ChatModel, { task, seed, tools }: UserBriefing): User {
  const scenario = `<scenario>\n${scenarioText(task)}\n</scenario>`
  const messages: ChatMessage[] = [{ role: 'system', content: `${guidelines}\n\n${scenario}` }]
  const used = { input: 0, output: 0 }
  return {
    async next(input, signal) {
      messages.push(...toChat(input))
      const answer = await complete(model, { messages, tools, seed }, signal)
      used.input += answer.usage.input
      used.output += answer.usage.output
      const calls = answer.toolCalls.map(toCall)
      messages.push(fromAnswer(answer.content, answer.toolCalls))
      return spoken('user', calls.length > 0 ? null : answer.content, calls)
    },
    usage: () => ({ ...used }),
  }
}

/** The user's model sees the roles the other way round: the agent's words are its `user` messages. */
function toChat(input: SpokenMessage | readonly ToolMessage[]): ChatMessage[] {
  if ('role' in input) return [{ role: 'user', content: input.content ?? '' }]
  return input.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content }))
}

function fromAnswer(
  content: string | null,
  calls: readonly { id: string; name: string; arguments: string }[],
): ChatMessage {
  const written = calls.map(({ id, ...call }) => ({ id, type: 'function', function: call }))
  return { role: 'assistant', content, ...(written.length > 0 && { tool_calls: written }) }
}

function toCall(call: { id: string; name: string; arguments: string }): ToolCall {
  const args = tryParseSaid(call.arguments)
  return { id: call.id, name: call.name, arguments: isObject(args) ? args : {}, requestor: 'user' }
}
