import { defineBuiltIn } from './define.ts'
import type { BuiltInScorer } from './scorer.ts'

/** Whether each fact was told to the user, in any of the agent's words; case and thousands separators do not matter. */
export const communicateScorer: BuiltInScorer = defineBuiltIn({
  name: 'COMMUNICATE',
  find({ task, messages }) {
    const texts = messages
      .filter((message) => message.role === 'assistant')
      .map((message) => (message.content ?? '').toLowerCase().replaceAll(',', ''))
    const facts = task.evaluation_criteria?.communicate_info ?? []
    return {
      communicate_checks: facts.map((info) => ({
        info,
        met: texts.some((text) => text.includes(info.toLowerCase())),
      })),
    }
  },
  reasons: ({ communicate_checks }) =>
    communicate_checks?.map(({ info, met }) => ({ what: `said "${info}"`, met })),
})
