import { expect, test } from 'vitest'
import { cook } from './recipe.ts'

test('a run without an end stops after the answer that reached its limit, and says so', async () => {
  const run = await cook('budget-usd')
  expect(run.state).toBe('TASK_STATE_FAILED')
  expect(run.text).toContain('budget of 0.0003 USD: 0.000312 are spent')
  const costs = run.trace.filter(({ type }) => type === 'reply').map(({ costUsd }) => costUsd)
  expect(costs).toEqual([0.000078, 0.000078, 0.000078, 0.000078])
})

test('a run that is done before goes to its end', async () => {
  const run = await cook('budget-usd', { model: ['Honey, honey.', 'GOOD'] })
  expect(run.state).toBe('TASK_STATE_COMPLETED')
  expect(run.requests).toHaveLength(2)
})
