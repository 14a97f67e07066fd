import { expect, test } from 'vitest'
import { cook } from './recipe.ts'

test('a guest is known by the next message of the same conversation', async () => {
  const run = await cook('memory-context')
  expect(run.text).toBe('You are Ada.')
  const last = run.requests.at(-1)?.messages.map(({ content }) => content)
  expect(last).toEqual([
    'You welcome guests.',
    'My name is Ada',
    'Welcome, Ada!',
    'Guest: Ada. Who am I?',
  ])
})

test('another conversation knows nothing of it', async () => {
  const run = await cook('memory-context', { earlier: [] })
  expect(run.text).toBe('You are unknown.')
})
