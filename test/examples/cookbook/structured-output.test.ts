import { expect, test } from 'vitest'
import { answerParts } from '../../../src/protocol/task.ts'
import { cook } from './recipe.ts'

test('an answer that does not fit is asked for again, and becomes data', async () => {
  const run = await cook('structured-output')
  expect(answerParts(run.task)).toMatchObject([{ data: { item: 'honey', count: 2 } }])
  expect(run.text).toBe('{"item":"honey","count":2}')
  expect(run.requests).toHaveLength(2)
  expect(run.requests[0]?.response_format).toMatchObject({ type: 'json_schema' })
})

test('one that never fits fails the task', async () => {
  const run = await cook('structured-output', { model: ['Gladly!'] })
  expect(run.state).toBe('TASK_STATE_FAILED')
  expect(run.requests).toHaveLength(2)
})
