import { defineAgent } from '../../src/agents/index.ts'
import { toUsageMetadata } from '../../src/protocol/extensions.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { Part } from '../../src/protocol/types.ts'
import { defineTeam, type Team } from '../../src/team/index.ts'
import type { Gate } from './scene.ts'

/** A schema for what a reviewer says. */
const review = {
  type: 'object',
  properties: {
    score: { type: 'number' },
    risk: { type: 'string' },
    languages: { type: 'array', items: { type: 'string' } },
  },
  required: ['score', 'risk', 'languages'],
}

/**
 * A team with every kind of step: a draft is checked by two at once and joined, reviewed until it is good, translated into
 * each language, and published, after a question where it is risky, and as it is where it is not. It may cost two cents.
 */
export function press(gate: Gate): Team {
  let reviews = 0
  const member = (id: string, work: (text: string) => string | readonly Part[], costUsd = 0.001) =>
    defineAgent({ id, name: id.charAt(0).toUpperCase() + id.slice(1) }, async ({ parts }, turn) => {
      await gate.passed(turn.signal)
      const metadata = toUsageMetadata({ inputTokens: 100, outputTokens: 20, costUsd })
      return { ...turn.reply(work(textOf(parts))), metadata }
    })
  const reviewed = (): readonly Part[] => {
    const score = ++reviews % 2 === 1 ? 0.5 : 0.9
    return [{ data: { score, risk: 'high', languages: ['de', 'fr', 'es'] } }]
  }
  return defineTeam({
    ...{ id: 'press', name: 'Press', description: 'Writes, checks, translates and publishes' },
    agents: {
      writer: member('writer', (text) => `A draft: ${text.slice(0, 80)}`),
      checker: member('checker', () => 'No mistakes'),
      lawyer: member('lawyer', () => 'No objections'),
      editor: member('editor', () => 'Checked by two'),
      reviewer: member('reviewer', reviewed),
      translator: member('translator', (text) => `In ${text}`, 0.0002),
      publisher: member('publisher', () => 'It is published'),
    },
    budget: { maxCostUsd: 0.02 },
    scheduler: {
      type: 'workflow',
      steps: [
        { name: 'draft', agentId: 'writer', input: 'Write: {{ question.text }} {{ feedback }}' },
        {
          name: 'checks',
          parallel: [{ agentId: 'checker' }, { agentId: 'lawyer' }],
          join: { agentId: 'editor' },
        },
        {
          loop: {
            steps: [
              { name: 'review', agentId: 'reviewer', outputSchema: review },
              { name: 'fix', agentId: 'writer', when: 'steps.review.data.score < 0.8' },
            ],
            until: 'steps.review.data.score >= 0.8',
            maxIterations: 3,
          },
        },
        {
          name: 'languages',
          map: { agentId: 'translator', over: 'steps.review.data.languages', maxParallel: 1 },
        },
        {
          name: 'publish',
          branch: [
            {
              when: "steps.review.data.risk == 'high'",
              steps: [
                { approval: { question: 'Publish this?', onFeedback: 'draft' } },
                { agentId: 'publisher' },
              ],
            },
            { steps: [{ name: 'at-once', agentId: 'publisher' }] },
          ],
        },
      ],
    },
  })
}
