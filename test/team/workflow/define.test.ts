import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineAgent } from '../../../src/agents/function.ts'
import { textOf } from '../../../src/protocol/task.ts'
import type { Json } from '../../../src/protocol/types.ts'
import { defineWorkflow } from '../../../src/team/workflow/define.ts'
import { callsOf, runFlow } from '../schedulers/workflow/scene.ts'

const review = z.object({ score: z.number(), risk: z.enum(['low', 'high']) })
const reviewer = defineAgent({ name: 'Reviewer', outputSchema: review }, (message) => ({
  score: JSON.stringify(message.parts).includes('better') ? 0.9 : 0.4,
  risk: 'high' as const,
}))
const agents = {
  writer: (message: { readonly parts: unknown }) =>
    `better ${JSON.stringify(message.parts).length}`,
  echo: defineAgent({ name: 'Echo' }, (message) => textOf(message.parts)),
  reviewer,
}
const about = { id: 'flow', name: 'Flow', agents }

describe('a workflow in one expression', () => {
  test('is a team, and its functions know the types of earlier results', async () => {
    const team = defineWorkflow({
      ...about,
      steps: (flow) =>
        flow
          .step('draft', { agentId: 'echo' })
          .step('review', { agentId: 'reviewer' })
          .step('fix', {
            agentId: 'echo',
            when: ({ steps, question }) => {
              expectTypeOf(steps.review.data.score).toEqualTypeOf<number>()
              expectTypeOf(question.data).toEqualTypeOf<Json | undefined>()
              return steps.review.data.score < 0.8
            },
            input({ steps, previous, feedback }) {
              expectTypeOf(previous.data).toEqualTypeOf<{ score: number; risk: 'low' | 'high' }>()
              return `${steps.draft.text} better ${feedback}`
            },
          })
          .branch('publish', (on) =>
            on
              .when(
                ({ steps }) => steps.review.data.risk === 'high',
                (inner) =>
                  inner.approval({ question: 'Publish?', onFeedback: 'fix' }).step('loud', {
                    agentId: 'echo',
                    outputSchema: z.string().array(),
                    input: ({ steps }) => steps.draft.text,
                  }),
              )
              .otherwise((inner) => inner.step('quiet', { agentId: 'reviewer' })),
          )
          .step('end', {
            agentId: 'echo',
            input({ steps, previous }) {
              expectTypeOf(steps.loud.data).toEqualTypeOf<string[] | undefined>()
              expectTypeOf(steps.quiet.data?.score).toEqualTypeOf<number | undefined>()
              expectTypeOf(previous.data).toEqualTypeOf<
                string[] | { score: number; risk: 'low' | 'high' }
              >()
              return `${steps.loud.data?.join('+')} ${steps.quiet.text}`
            },
          }),
    })
    const run = await runFlow(team, '["a","b"]', 'or', 'yes')
    expect(callsOf(run).map((call) => call.split(': ')[0])).toEqual([
      '1 echo',
      '2 reviewer',
      '3 echo',
      '3@2 echo',
      '4@2.1.2 echo',
      '5@2 echo',
    ])
    expect(run.text).toBe('a+b ')
  })

  test('knows the data of parallel steps, joins, maps and loops', async () => {
    const team = defineWorkflow({
      ...about,
      steps: (flow) =>
        flow
          .parallel(
            'both',
            [
              (at) => at.step('a', { agentId: 'reviewer' }),
              (at) => at.step('b', { agentId: 'echo', outputSchema: z.array(z.number()) }),
            ],
            {
              join: {
                agentId: 'echo',
                outputSchema: z.object({ list: z.array(z.object({ n: z.number() })) }),
                input({ steps }) {
                  expectTypeOf(steps.a.data.score).toEqualTypeOf<number>()
                  expectTypeOf(steps.b.data).toEqualTypeOf<number[]>()
                  return JSON.stringify({ list: steps.b.data.map((n) => ({ n })) })
                },
              },
            },
          )
          .map('each', {
            over: ({ steps }) => steps.both.data.list,
            agentId: 'echo',
            outputSchema: z.number(),
            input({ item }) {
              expectTypeOf(item).toEqualTypeOf<{ n: number }>()
              return String(item.n * 2)
            },
          })
          .map('lists', {
            over({ steps }) {
              expectTypeOf(steps.each.data).toEqualTypeOf<readonly number[]>()
              return steps.each.data
            },
            steps: (inner) =>
              inner.step('one', {
                agentId: 'echo',
                outputSchema: z.object({ double: z.number() }),
                input({ item, previous }) {
                  expectTypeOf(item).toEqualTypeOf<number>()
                  expectTypeOf(previous.data).toEqualTypeOf<number>()
                  return JSON.stringify({ double: item * 2 })
                },
              }),
          })
          .loop(
            'grow',
            (inner) =>
              inner.step('more', {
                agentId: 'echo',
                outputSchema: z.object({ sum: z.number() }),
                input({ steps, round }) {
                  expectTypeOf(round).toEqualTypeOf<number>()
                  const sum = steps.lists.data.reduce((all, { double }) => all + double, 0)
                  return JSON.stringify({ sum: sum * round })
                },
              }),
            { until: ({ steps }) => steps.more.data.sum > 30, maxIterations: 5 },
          )
          .step('end', {
            agentId: 'echo',
            input: ({ steps }) => `${steps.grow.data.sum} ${steps.a.data?.risk}`,
          }),
    })
    const run = await runFlow(team, '[1, 2]')
    expect(run.text).toBe('36 high')
  })
})
