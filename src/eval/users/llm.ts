import type { ChatMessage, ChatToolCall } from '../../agents/openai/wire.ts'
import type { ModelToolCall } from '../../agents/run-tool.ts'
import { isJsonObject, tryParseSaid } from '../base/json.ts'
import { type ChatModel, type ModelClient, type ModelOptions, openModel } from '../base/model.ts'
import {
  type AgentInput,
  type ConversationMessage,
  isResults,
  isToolCall,
  spoken,
  type ToolCall,
} from '../domain/conversation.ts'
import { scenarioText, type User, type UserBriefing, type UserSimulator } from './user.ts'

const guidelines = `You play a customer who contacts a service desk. Follow the scenario below.
- Write one message at a time, in your own words, as a customer would.
- Tell only what the scenario tells you, and only when it is asked for or needed. Never invent facts.
- When your wish is fulfilled or clearly refused, end with ###STOP###.
- When you are handed over to somebody else, write ###TRANSFER###.
- When the scenario does not tell you enough to go on, write ###OUT-OF-SCOPE###.`

/** Lets a model play the user, from the task's scenario and the user's own tools. */
export function createLlmUser(chat: ChatModel, options?: ModelOptions): UserSimulator {
  const model = openModel(chat, options)
  return {
    kind: 'llm',
    model: chat.model,
    ...(chat.args && { args: chat.args }),
    refuses: (task) => (task.user_scenario ? undefined : `Task ${task.id} has no user_scenario`),
    start: (briefing) => createPlayer(model, briefing),
    close: () => model.close(),
  }
}

function createPlayer(model: ModelClient, briefing: UserBriefing): User {
  const { seed, tools, history = [] } = briefing
  const messages: ChatMessage[] = [{ role: 'system', content: systemOf(briefing) }]
  const offered = tools.map((tool) => ({ type: 'function' as const, function: tool }))
  const used = { input: 0, output: 0 }
  let begun = false
  return {
    async next(input, signal) {
      if (!begun) messages.push(...beforeInput(history, input).flatMap(toPast))
      begun = true
      messages.push(...toChat(input))
      const request = { messages, seed, ...(offered.length > 0 && { tools: offered }) }
      const answer = await model.ask(request, signal)
      used.input += answer.usage?.inputTokens ?? 0
      used.output += answer.usage?.outputTokens ?? 0
      const calls = answer.toolCalls()
      messages.push(toAssistant(answer.text, calls))
      return spoken('user', calls.length > 0 ? null : answer.text || null, calls.map(toCall))
    },
    usage: () => ({ ...used }),
  }
}

function systemOf({ task, tools, prompts }: UserBriefing): string {
  if (prompts) return prompts.user(task, tools.length > 0)
  return `${guidelines}\n\n<scenario>\n${scenarioText(task)}\n</scenario>`
}

/** The history without what the user is about to be told as new. */
function beforeInput(
  history: readonly ConversationMessage[],
  input: AgentInput,
): readonly ConversationMessage[] {
  const news: readonly ConversationMessage[] = isResults(input) ? input : [input]
  return history.filter((message) => !news.includes(message))
}

/** A message of the history as the user saw it: the agent's calls and their results are not for them. */
function toPast(message: ConversationMessage): ChatMessage[] {
  if (message.role === 'tool') return message.requestor === 'user' ? toChat([message]) : []
  if (message.role === 'assistant') return isToolCall(message) ? [] : toChat(message)
  const calls = message.tool_calls ?? []
  const written = calls.map(({ id, name, arguments: args }) => ({
    id,
    name,
    arguments: JSON.stringify(args),
  }))
  return [toAssistant(message.content ?? '', written)]
}

/** The user's model sees the roles the other way round: the agent's words are its `user` messages. */
function toChat(input: AgentInput): ChatMessage[] {
  if (!isResults(input)) return [{ role: 'user', content: input.content ?? '' }]
  return input.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content }))
}

function toAssistant(text: string, calls: readonly ModelToolCall[]): ChatMessage {
  const written = calls.map(
    ({ id, ...call }): ChatToolCall => ({ id, type: 'function', function: call }),
  )
  return {
    role: 'assistant',
    content: text || null,
    ...(written.length > 0 && { tool_calls: written }),
  }
}

function toCall({ id, name, arguments: written }: ModelToolCall): ToolCall {
  const args = tryParseSaid(written)
  return { id, name, arguments: isJsonObject(args) ? args : {}, requestor: 'user' }
}
