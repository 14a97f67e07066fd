import { expect, test } from 'vitest'
import { cook } from './recipe.ts'

test('a customer is handed from the desk to billing and on to shipping, which answers', async () => {
  const run = await cook('router-handoff', 'Was my parcel paid for, and where is it?', {
    models: [
      { tools: [{ name: 'transfer_to_billing', arguments: {} }] },
      { tools: [{ name: 'transfer_to_shipping', arguments: { message: 'Paid. Where is it?' } }] },
      'It is in Kiel.',
    ],
  })
  expect(run.text).toBe('It is in Kiel.')
  const asked = run.delegations.map(({ member, text }) => [member, text])
  expect(asked).toEqual([
    ['desk', 'Was my parcel paid for, and where is it?'],
    ['billing', 'Was my parcel paid for, and where is it?'],
    ['shipping', 'Paid. Where is it?'],
  ])
})

test('the desk may answer by itself', async () => {
  const run = await cook('router-handoff', 'Hello', { models: ['What can we do for you?'] })
  expect(run.text).toBe('What can we do for you?')
  expect(run.delegations).toHaveLength(1)
})
