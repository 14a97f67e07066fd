import { expect, test } from 'vitest'
import { callsOf, cook } from './recipe.ts'

test('what is neither a yes nor a no goes back to the writer, and a yes is published', async () => {
  const run = await cook('approval-feedback')
  expect(run.text).toBe('Published.')
  expect(run.questions).toHaveLength(2)
  expect(callsOf(run)).toEqual([
    'writer: The bridge is open',
    'writer: The bridge is open. Mind: Shorter, please',
    'publisher: Bridge open!',
  ])
  const verdicts = run.trace.filter(({ type }) => type === 'approval')
  expect(verdicts.map(({ verdict }) => verdict)).toEqual(['feedback', 'approved'])
})

test('a no rejects the task, and nothing is published', async () => {
  const run = await cook('approval-feedback', { answers: ['no'] })
  expect(run.state).toBe('TASK_STATE_REJECTED')
  expect(callsOf(run)).toHaveLength(1)
})

test('feedback without an end rejects the task', async () => {
  const run = await cook('approval-feedback', { answers: ['a', 'b', 'c', 'd'] })
  expect(run.state).toBe('TASK_STATE_REJECTED')
  expect(callsOf(run)).toHaveLength(4)
})
