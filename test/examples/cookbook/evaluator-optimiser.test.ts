import { expect, test } from 'vitest'
import { callsOf, cook } from './recipe.ts'

test('a line is written anew, with the reason, until the judge likes it', async () => {
  const run = await cook('evaluator-optimiser')
  expect(callsOf(run)).toEqual([
    'writer: A line about the sea',
    'judge: The sea sighs.',
    'writer: Write it anew: It needs a colour.',
    'judge: The grey sea sighs.',
    'writer: Give it a title: The grey sea sighs.',
  ])
  expect(run.text).toBe('The Sea. The grey sea sighs.')
})

test('a line that is good at once is not written anew', async () => {
  const good = '{"score": 1, "reason": "Fine."}'
  const run = await cook('evaluator-optimiser', { model: ['The grey sea.', good, 'Done.'] })
  expect(callsOf(run).at(-1)).toBe('writer: Give it a title: The grey sea.')
  expect(run.requests).toHaveLength(3)
})
