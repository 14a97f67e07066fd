import { z } from 'zod'
import { findJson } from '../../shared/embedded-json.ts'
import { parseWith, tryParseSaid } from '../base/json.ts'
import { type ChatModel, type ModelOptions, openModel } from '../base/model.ts'
import { type ConversationMessage, isToolCall } from '../domain/conversation.ts'
import type { DomainPrompts } from '../domain/environment.ts'
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

/** Our words for a verdict, or tau2's. */
const verdict = z.union([
  z.object({ met: z.boolean(), justification: z.string().default('') }),
  z
    .object({ metExpectation: z.boolean(), reasoning: z.string().default('') })
    .transform(({ metExpectation: met, reasoning: justification }) => ({ met, justification })),
])
const verdicts = z.object({ results: z.array(verdict) })

const instructions = `You judge a conversation between a service desk and a customer. For each numbered statement,
decide whether the conversation makes it true. Answer with JSON:
{"results": [{"met": true or false, "justification": "one sentence"}, …]}, one entry per statement, in order.`

/** What a judge works with. */
export interface JudgeOptions extends ModelOptions {
  /** A domain's own words; those of general use if absent. */
  readonly prompt?: DomainPrompts['judge'] | undefined
}

/** Makes a judge that asks a model behind an OpenAI-compatible API. */
export function createJudge(chat: ChatModel, options: JudgeOptions = {}): Judge {
  const model = openModel(chat, options)
  return async (statements, messages, signal) => {
    const { system, user } = (options.prompt ?? generalPrompt)(statements, messages)
    const request = {
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ],
      // A domain's own words say themselves what they want; not every service knows this member.
      ...(!options.prompt && { response_format: { type: 'json_object' } as const }),
    } as const
    const { text } = await model.ask(request, signal)
    const { results } = parseWith(verdicts, readAnswer(text), "judge's answer")
    return statements.map((nl_assertion, index) => ({
      nl_assertion,
      met: results[index]?.met ?? false,
      justification: results[index]?.justification ?? 'The judge gave no verdict',
    }))
  }
}

const generalPrompt: DomainPrompts['judge'] = (statements, messages) => {
  const list = statements.map((text, index) => `${index + 1}. ${text}`).join('\n')
  const user = `<conversation>\n${transcriptOf(messages)}\n</conversation>\n\n${list}`
  return { system: instructions, user }
}

/** The object of an answer, also where it stands in a fence or in prose. */
function readAnswer(text: string): unknown {
  const whole = tryParseSaid(text)
  if (whole !== undefined) return whole
  const found = findJson(text).map(({ value }) => value)
  return found.find((value) => 'results' in value) ?? found[0] ?? null
}

/** A judge that finds everything true without looking: for tests of a domain. */
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
