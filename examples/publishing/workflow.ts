/** The workflow of corral.toml in TypeScript. Run: npx tsx examples/publishing/workflow.ts */

// #region workflow
import type { AgentFunction } from 'corral/agents'
import { defineWorkflow, runTeam } from 'corral/team'
import { z } from 'zod'

const review = z.object({ score: z.number(), reason: z.string(), risk: z.enum(['low', 'high']) })

/** The members are those of the file. */
const member = async (name: string): Promise<AgentFunction> =>
  (await import(`./agents/${name}.mjs`)).default

export const publishing = defineWorkflow({
  id: 'publishing',
  name: 'Publishing',
  agents: {
    writer: await member('writer'),
    reviewer: await member('reviewer'),
    publisher: await member('publisher'),
  },
  steps: (flow) =>
    flow
      .step('draft', { agentId: 'writer' })
      .step('review', { agentId: 'reviewer', outputSchema: review })
      .step('fix', {
        agentId: 'writer',
        when: ({ steps }) => steps.review.data.score < 0.8,
        input: ({ steps, feedback }) =>
          `Improve: ${steps.draft.text} because ${steps.review.data.reason} ${feedback}`,
      })
      .branch('publish', (on) =>
        on
          .when(
            ({ steps }) => steps.review.data.risk === 'high',
            (risky) =>
              risky
                .approval({ question: 'Publish?', onFeedback: 'fix' })
                .step('approved', { agentId: 'publisher' }),
          )
          .otherwise((harmless) => harmless.step('direct', { agentId: 'publisher' })),
      ),
})

const answers = ['and say when', 'yes']
const { text, questions } = await runTeam(publishing, 'new prices', { answers })
console.log([...questions, text].join('\n---\n'))
// #endregion
