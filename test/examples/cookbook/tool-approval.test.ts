import { expect, test } from 'vitest'
import type { ModelAnswer } from '../../../src/testing/index.ts'
import { cook } from './recipe.ts'

const bill = (amount: number): ModelAnswer => ({
  tools: [{ name: 'pay', arguments: { to: 'Anna', amount } }],
})

test('a large sum is paid after a clear yes, with the arguments that the user was shown', async () => {
  const run = await cook('tool-approval', 'Pay Anna', {
    models: [bill(70), 'Done.'],
    answers: ['How much was it?', 'yes'],
  })
  expect(run.text).toBe('Done.')
  expect(run.questions).toHaveLength(2)
  expect(run.questions[0]).toContain('"amount": 70')
  expect(paidIn(run.trace)).toEqual(['Paid 70 € to Anna'])
  const verdicts = run.trace.filter(({ type }) => type === 'tool-approval')
  expect(verdicts.map(({ verdict }) => verdict)).toEqual(['unclear', 'approved'])
})

test('after a clear no nothing is paid, and the task is rejected', async () => {
  const run = await cook('tool-approval', 'Pay Anna', { models: [bill(70)], answers: ['no'] })
  expect(run.state).toBe('TASK_STATE_REJECTED')
  expect(paidIn(run.trace)).toEqual([])
})

test('a small sum is paid without a question', async () => {
  const run = await cook('tool-approval', 'Pay Anna', { models: [bill(7), 'Done.'] })
  expect(run.questions).toEqual([])
  expect(paidIn(run.trace)).toEqual(['Paid 7 € to Anna'])
})

function paidIn(trace: readonly Readonly<Record<string, unknown>>[]): readonly unknown[] {
  return trace.filter(({ type }) => type === 'tool').map(({ result }) => result)
}
