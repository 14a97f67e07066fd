import { expect, test } from 'vitest'
import { answerParts } from '../../../src/protocol/task.ts'
import { cook } from './recipe.ts'

test('an answer that does not fit is asked for again, and becomes data', async () => {
  const run = await cook('structured-output')
  expect(run.delegations.map(({ answer }) => answer)).toEqual([
    '{"item":"honey","count":2}',
    '{"order":"2 of honey","euros":10}',
  ])
  expect(answerParts(run.task)).toMatchObject([{ data: { order: '2 of honey', euros: 10 } }])
  expect(run.requests).toHaveLength(2)
  expect(run.requests[0]?.response_format).toMatchObject({ type: 'json_schema' })
})

test('one that never fits fails the task', async () => {
  const run = await cook('structured-output', { model: ['Gladly!'] })
  expect(run.state).toBe('TASK_STATE_FAILED')
  expect(run.requests).toHaveLength(2)
})
