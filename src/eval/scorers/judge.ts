import { z } from 'zod'
import { parseWith } from '../base/json.ts'
import { type ChatModel, type ModelOptions, openModel } from '../base/model.ts'
import { type ConversationMessage, isToolCall } from '../domain/conversation.ts'
import type { EvalTask } from '../domain/task.ts'
import { defineBuiltIn } from './define.ts'
import type { BuiltInScorer, Judge } from './scorer.ts'

/** Whether a judge finds the task's statements about the conversation true. */
export const statementsScorer: BuiltInScorer = defineBuiltIn({
  name: 'NL_ASSERTION',
  needs: (task) => (statementsOf(task).length > 0 ? ['judge'] : []),
  async find({ task, messages, judge, signal }) {
    const statements = statementsOf(task)
    if (statements.length === 0) return { nl_assertions: [] }
    return { nl_assertions: (await judge?.(statements, messages, signal)) ?? null }
  },
  reasons: ({ nl_assertions }) =>
    nl_assertions?.map(({ nl_assertion, met, justification }) => ({
      what: nl_assertion,
      met,
      ...(justification && { why: justification }),
    })),
})

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
    const content = `<conversation>\n${transcriptOf(messages)}\n</conversation>\n\n${list}`
    const request = {
      messages: [
        { role: 'system', content: instructions },
        { role: 'user', content },
      ],
      response_format: { type: 'json_object' },
    } as const
    const { text } = await model.ask(request, signal)
    const { results } = parseWith(verdicts, JSON.parse(text || 'null'), "judge's answer")
    return statements.map((nl_assertion, index) => ({
      nl_assertion,
      met: results[index]?.met ?? false,
      justification: results[index]?.justification ?? 'The judge gave no verdict',
    }))
  }
}

/** A judge that finds everything true without looking: for tests of a domain, where no model is asked. */
export const agreeingJudge: Judge = async (statements) =>
  statements.map((nl_assertion) => ({ nl_assertion, met: true, justification: 'Not asked' }))

function statementsOf(task: EvalTask): readonly string[] {
  return task.evaluation_criteria?.nl_assertions ?? []
}

function transcriptOf(messages: readonly ConversationMessage[]): string {
  return messages
    .map((message) => {
      if (message.role === 'tool') return `tool: ${message.content}`
      if (!isToolCall(message)) return `${message.role}: ${message.content}`
      return `${message.role} calls: ${JSON.stringify(message.tool_calls)}`
    })
    .join('\n')
}
