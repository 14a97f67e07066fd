import { expect, test } from 'vitest'
import { callsOf, cook } from './recipe.ts'

test('a line is written anew, with the reason, until the judge likes it', async () => {
  const run = await cook('evaluator')
  expect(callsOf(run).slice(0, 4)).toEqual([
    'writer: A line about the sea',
    'judge: The sea sighs.',
    'writer: Write it anew: It needs a colour.',
    'judge: The grey sea sighs.',
  ])
  expect(run.state).toBe('TASK_STATE_COMPLETED')
})
