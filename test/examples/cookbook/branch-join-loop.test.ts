import { expect, test } from 'vitest'
import { callsOf, cook } from './recipe.ts'

test('a complaint is looked at by two at once, and its answer written until it is signed', async () => {
  const run = await cook('branch-join-loop')
  expect(run.text).toBe('Dear you, here is another. Yours, the desk')
  expect(callsOf(run)).toEqual([
    'triage: The kettle leaks!',
    'lawyer: The kettle leaks!',
    'seller: The kettle leaks!',
    'writer: Law: Replace it. Customer: Be kind.',
    'writer: Dear you, sorry.',
  ])
  expect(run.trace.filter(({ type }) => type === 'branch')).toMatchObject([{ case: 1 }])
})

test('a question goes the other way', async () => {
  const run = await cook('branch-join-loop', { model: ['question', 'At nine.'] })
  expect(run.text).toBe('At nine.')
  expect(callsOf(run)).toEqual(['triage: The kettle leaks!', 'clerk: The kettle leaks!'])
  expect(run.trace.filter(({ type }) => type === 'branch')).toMatchObject([{ case: 2 }])
})
