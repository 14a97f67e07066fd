import { expect, test } from 'vitest'
import { callsOf, cook } from './recipe.ts'

test('a question is handed over to whom it concerns', async () => {
  const run = await cook('router-handoff')
  expect(run.text).toBe('It comes tomorrow.')
  expect(callsOf(run)).toEqual(['triage: Where is my parcel?', 'shipping: Where is my parcel?'])
})

test('and on to another, with words of its own', async () => {
  const run = await cook('router-handoff', {
    model: [
      { tools: [{ name: 'transfer_to_billing', arguments: {} }] },
      { tools: [{ name: 'transfer_to_shipping', arguments: { message: 'Paid. Where is it?' } }] },
      'In Kiel.',
    ],
  })
  expect(run.text).toBe('In Kiel.')
  expect(callsOf(run).slice(1)).toEqual([
    'billing: Where is my parcel?',
    'shipping: Paid. Where is it?',
  ])
})
