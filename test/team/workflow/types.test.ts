import { describe, expect, test } from 'vitest'
import { messagesOf } from '../compiler.ts'

const head = `import { z } from 'zod'
import { defineAgent } from 'corral/agents'
import { defineWorkflow } from 'corral/team'
const review = z.object({ score: z.number() })
const reviewer = defineAgent({ name: 'R', outputSchema: review }, () => ({ score: 1 }))
const about = { id: 't', name: 'T', agents: { writer: () => 'x', reviewer } }`

const begin = `flow.step('draft', { agentId: 'writer' }).step('review', { agentId: 'reviewer' })`

/** What follows two steps of a workflow, each with what the compiler says of it. */
const cases: Readonly<Record<string, readonly [code: string, says?: string]>> = {
  'what is right': [
    `.step('fix', { agentId: 'writer', when: ({ steps }) => steps.review.data.score < 1 })`,
  ],
  'a step that there is not': [
    `.step('fix', { agentId: 'writer', when: ({ steps }) => steps.reveiw.data.score < 1 })`,
    `Property 'reveiw' does not exist on type '{ readonly draft: StepResult<Json | undefined>; readonly review: StepResult<{ score: number; }>; }'. Did you mean 'review'?`,
  ],
  'a member that there is not': [
    `.step('fix', { agentId: 'wrtier' })`,
    `Type '"wrtier"' is not assignable to type '"reviewer" | "writer"'. Did you mean '"writer"'?`,
  ],
  'data that there is not': [
    `.step('fix', { agentId: 'writer', input: ({ steps }) => steps.review.data.reason })`,
    `Property 'reason' does not exist on type '{ score: number; }'.`,
  ],
  'data of another type': [
    `.step('fix', { agentId: 'writer', input: ({ steps }) => steps.review.data.score })`,
    expect.stringMatching(
      /\n {4}Type 'number' is not assignable to type 'string \| .*Part\[\]'\.$/,
    ),
  ],
  'data of a step that may have been left out': [
    `.step('again', { agentId: 'reviewer', when: 'true' }).step('fix', { agentId: 'writer', input: ({ steps }) => String(steps.again.data.score) })`,
    `'steps.again.data' is possibly 'undefined'.`,
  ],
  'data of an item that is a text': [
    `.map('all', { over: () => ['a'], steps: (one) => one.step('each', { agentId: 'writer', input: ({ item, previous }) => item + previous.data.length }) })`,
    `'previous.data' is possibly 'undefined'.`,
  ],
  'data of an item that is an object': [
    `.map('all', { over: () => [{ n: 1 }], steps: (one) => one.step('each', { agentId: 'writer', input: ({ previous }) => String(previous.data.n) }) })`,
  ],
  'a condition that is no yes or no': [
    `.step('fix', { agentId: 'writer', when: ({ steps }) => steps.review.text })`,
    expect.stringMatching(
      /\n {4}Type 'string' is not assignable to type 'boolean \| Promise<boolean>'\.$/,
    ),
  ],
  'a name that is taken': [
    `.step('draft', { agentId: 'writer' })`,
    `Argument of type '"draft"' is not assignable to parameter of type '"there is another step \\"draft\\""'.`,
  ],
  'a misspelt key': [
    `.step('fix', { agentId: 'writer', inptu: 'x' })`,
    expect.stringContaining(
      `Object literal may only specify known properties, but 'inptu' does not exist in type`,
    ),
  ],
  'feedback to a step that there is not': [
    `.approval({ question: '?', onFeedback: 'drfat' })`,
    `Type '"drfat"' is not assignable to type '"draft" | "review"'. Did you mean '"draft"'?`,
  ],
  'feedback into a case that has ended': [
    `.branch('b', (on) => on.otherwise((f) => f.step('in', { agentId: 'writer' }))).approval({ question: '?', onFeedback: 'in' })`,
    `Type '"in"' is not assignable to type '"b" | "draft" | "review"'.`,
  ],
  'a step beside this one': [
    `.parallel('p', [(f) => f.step('x', { agentId: 'writer' }), (f) => f.step('y', { agentId: 'writer', input: ({ steps }) => steps.x.text })])`,
    expect.stringContaining(`Property 'x' does not exist on type`),
  ],
  'an item outside a map': [
    `.step('fix', { agentId: 'writer', input: ({ item }) => String(item) })`,
    expect.stringContaining(`Property 'item' does not exist on type`),
  ],
  'a round that is a number': [
    `.loop('l', (f) => f.step('x', { agentId: 'writer', input: ({ round }) => round.trim() }), { until: 'x', maxIterations: 2 })`,
    `Property 'trim' does not exist on type 'number'.`,
  ],
  'a loop without an end': [
    `.loop('l', (f) => f.step('x', { agentId: 'writer' }), { until: 'x' })`,
    expect.stringContaining(`Property 'maxIterations' is missing in type '{ until: string; }'`),
  ],
}

const said = await messagesOf(
  head,
  Object.values(cases).map(
    ([code]) => `defineWorkflow({ ...about, steps: (flow) => ${begin}${code} })`,
  ),
)

describe('the compiler says of a workflow', () => {
  test.each(Object.keys(cases).map((name, index) => [name, index] as const))(
    '%s',
    (name, index) => {
      expect(said.ofLines[index]).toEqual(cases[name]?.[1])
    },
  )

  test('nothing more', () => {
    expect(said.ofHead).toEqual([])
  })
})
