import { expect, test } from 'vitest'
import { callsOf, cook } from './recipe.ts'

test('each question of the list is answered, and the answers are put together', async () => {
  const run = await cook('map-reduce')
  expect(run.text).toBe('All about bees.')
  expect(callsOf(run).slice(0, 3)).toEqual([
    'planner: Bees',
    'researcher: What do they eat?',
    'researcher: Where do they live?',
  ])
  expect(callsOf(run)[3]).toContain('What do they eat? That is known.')
})
