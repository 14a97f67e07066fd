import { z } from 'zod'
import { parseWith } from '../base/json.ts'
import { type ChatModel, type ModelOptions, openModel } from '../base/model.ts'
import { type ConversationMessage, isToolCall } from '../domain/conversation.ts'
import type { RewardInfo } from '../results/simulation.ts'

/** Says whether statements about a conversation are true. */
export type Judge = (
  statements: readonly string[],
  messages: readonly ConversationMessage[],
  signal: AbortSignal,
) => Promise<NonNullable<RewardInfo['nl_assertions']>>

const verdicts = z.object({
  results: z.array(z.object({ met: z.boolean(), justification: z.string().default('') })),
})

const instructions = `You judge a conversation between a service desk and a customer. For each numbered statement,
decide whether the conversation makes it true. Answer with JSON:
{"results": [{"met": true or false, "justification": "one sentence"}, …]}, one entry per statement, in order.`

/** A judge that asks a model behind an OpenAI-compatible API. */
export function createJudge(chat: ChatModel, options?: ModelOptions): Judge {
  const model = openModel(chat, options)
  return async (statements, messages, signal) => {
    const list = statements.map((text, index) => `${index + 1}. ${text}`).join('\n')
    const content = `<conversation>\n${transcript(messages)}\n</conversation>\n\n${list}`
    const answer = await model.ask(
      {
        messages: [
          { role: 'system', content: instructions },
          { role: 'user', content },
        ],
        response_format: { type: 'json_object' },
      },
      signal,
    )
    const { results } = parseWith(verdicts, JSON.parse(answer.text || 'null'), "judge's answer")
    return statements.map((nl_assertion, index) => ({
      nl_assertion,
      met: results[index]?.met ?? false,
      justification: results[index]?.justification ?? 'The judge gave no verdict',
    }))
  }
}

function transcript(messages: readonly ConversationMessage[]): string {
  return messages
    .map((message) => {
      if (message.role === 'tool') return `tool: ${message.content}`
      if (!isToolCall(message)) return `${message.role}: ${message.content}`
      return `${message.role} calls: ${JSON.stringify(message.tool_calls)}`
    })
    .join('\n')
}
