import { expect, test } from 'vitest'
import type { ModelRequest } from '../../../src/testing/index.ts'
import { createBarrier } from '../../acceptance/team.ts'
import { cook } from './recipe.ts'

test('the planner asks for trains and rooms at once, and answers with both', async () => {
  // Neither colleague is answered before both have been asked.
  const together = createBarrier(2)
  const run = await cook('supervisor-parallel', 'A weekend in Kiel', {
    async models(request) {
      const who = String(request.messages[0]?.content)
      if (who.startsWith('You plan')) return plan(request)
      await together()
      return who.startsWith('You find trains') ? 'The 9:14' : 'At the harbour'
    },
  })
  expect(run.text).toBe('Take The 9:14, At the harbour.')
  expect(run.delegations.map(({ member, text }) => [member, text])).toEqual([
    ['planner', 'A weekend in Kiel'],
    ['trains', 'Friday to Kiel'],
    ['rooms', 'Two nights in Kiel'],
  ])
})

function plan({ messages }: ModelRequest) {
  const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  if (told.length > 0) return `Take ${told.join(', ')}.`
  return {
    tools: [
      { name: 'delegate_to_trains', arguments: { message: 'Friday to Kiel' } },
      { name: 'delegate_to_rooms', arguments: { message: 'Two nights in Kiel' } },
    ],
  }
}
