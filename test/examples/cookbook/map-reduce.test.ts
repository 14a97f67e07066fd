import { expect, test } from 'vitest'
import { callsOf, cook } from './recipe.ts'

test('each question of the list is answered, and the answers are put together', async () => {
  const run = await cook('map-reduce')
  expect(run.text).toBe('All about bees.')
  expect(callsOf(run).slice(0, 3)).toEqual([
    'planner: Bees',
    'researcher: Bees: What do they eat?',
    'researcher: Bees: Where do they live?',
  ])
  const [title, ...answers] = String(run.delegations.at(-1)?.text).split('\n')
  expect(title).toBe('Bees')
  expect(answers.filter((line) => line.endsWith('That is known.'))).toEqual([
    'Bees: What do they eat? That is known.',
    'Bees: Where do they live? That is known.',
  ])
})
