import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/protocol/types.ts'
import type { ModelAnswer } from '../../../src/testing/index.ts'
import { cook } from './recipe.ts'

test('a large sum is paid after a clear yes, with the arguments that the user was shown', async () => {
  const run = await cook('tool-approval')
  expect(run.text).toBe('Anna has her money.')
  expect(run.questions).toHaveLength(2)
  expect(run.questions[0]).toContain('"amount": 70')
  expect(resultsIn(run.trace)).toEqual(['Paid 70 € to Anna'])
  const verdicts = run.trace.filter(({ type }) => type === 'tool-approval')
  expect(verdicts.map(({ verdict }) => verdict)).toEqual(['unclear', 'approved'])
})

test('after a clear no nothing is paid, and the task is rejected', async () => {
  const run = await cook('tool-approval', { model: bill(70), answers: ['no'] })
  expect(run.state).toBe('TASK_STATE_REJECTED')
  expect(resultsIn(run.trace)).toEqual([])
})

test('a small sum is paid without a question', async () => {
  const run = await cook('tool-approval', { model: bill(7), answers: [] })
  expect(run.questions).toEqual([])
  expect(resultsIn(run.trace)).toEqual(['Paid 7 € to Anna'])
})

function bill(amount: number): readonly ModelAnswer[] {
  return [{ tools: [{ name: 'pay', arguments: { to: 'Anna', amount } }] }, 'Done.']
}

function resultsIn(trace: readonly JsonObject[]): readonly unknown[] {
  return trace.filter(({ type }) => type === 'tool').map(({ result }) => result)
}
