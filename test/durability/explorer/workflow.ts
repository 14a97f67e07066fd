import { z } from 'zod'
import type { Team } from '../../../src/team/team.ts'
import { defineWorkflow } from '../../../src/team/workflow/define.ts'
import type { Process, Scenario } from './explorer.ts'
import { asker, type Told, telling, worker } from './members.ts'

const topics = z.object({ topics: z.array(z.string()), size: z.number() })

/** Fits its schema at the second try. */
const plan = (text: string): Told =>
  text.includes('You have answered')
    ? { says: '{"topics": ["sun", "moon"], "size": 2}', gives: '"sun"' }
    : { says: 'Topics then', gives: 'Topics then' }

/** Everything that a workflow may do with data; each rule is a function whose decision is a step of this name. */
function typed(p: Process): Team {
  const decides = <T>(step: string, decision: T): T => {
    p.note(`rule ${step}`, '', `\n${step} = `)
    return decision
  }
  return defineWorkflow({
    ...{ id: 'typed', name: 'typed' },
    agents: {
      planner: telling(p, 'planner', plan),
      writer: worker(p, 'writer'),
      publisher: worker(p, 'publisher'),
      asker: asker(p, 'asker'),
    },
    steps: (flow) =>
      flow
        .step('plan', { agentId: 'planner', outputSchema: topics })
        .map('each', {
          agentId: 'writer',
          over: ({ steps }) => decides('2?over', steps.plan.data.topics),
          input: ({ item }) => decides(`2[${item === 'sun' ? 1 : 2}]?input`, `on ${item}`),
        })
        .parallel(
          'both',
          [
            (one) => one.step('told', { agentId: 'publisher' }),
            (one) => one.step('asked', { agentId: 'asker', when: () => decides('3.2?when', true) }),
          ],
          {
            join: ({ steps }) =>
              decides('3.join?join', `${steps.told.text} and ${steps.asked.text}`),
          },
        )
        .loop('polish', (round) => round.step('shine', { agentId: 'writer' }), {
          until: ({ round, steps }) => decides(`4#${round}?until`, round === steps.plan.data.size),
          maxIterations: 5,
        })
        .branch('publish', (on) =>
          on
            .when(
              ({ steps }) => decides('5?case1', steps.plan.data.size > 1),
              (inner) =>
                inner
                  .step('final', {
                    agentId: 'publisher',
                    input: ({ feedback }) =>
                      decides(`5.1.1${feedback && '@2'}?input`, `out ${feedback}`),
                  })
                  .approval({ question: 'Publish?', onFeedback: 'final' }),
            )
            .otherwise((inner) => inner.step('quiet', { agentId: 'planner' })),
        ),
  })
}

/** A workflow whose data and rules have types. */
export const inferredWorkflows: readonly Scenario[] = [
  {
    name: 'a typed workflow with a branch, a join, a map and a loop',
    agents: (p) => [typed(p)],
    async talk(user) {
      for (const text of ['go', 'red', 'shorter', 'yes']) await user.say(text)
    },
    unordered: ['writer'],
  },
]
