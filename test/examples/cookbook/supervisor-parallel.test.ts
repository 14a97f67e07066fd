import { expect, test } from 'vitest'
import { example } from '../../../examples/cookbook/supervisor-parallel/team.ts'
import { createBarrier } from '../../acceptance/team.ts'
import { callsOf, cook } from './recipe.ts'

test('the lead asks two colleagues at once, and answers with what both say', async () => {
  // Neither colleague is answered before both have been asked.
  const together = createBarrier(2)
  const { model } = example
  const run = await cook('supervisor-parallel', {
    async model(request, count) {
      const isLead = String(request.messages[0]?.content).startsWith('You lead')
      if (!isLead) await together()
      return typeof model === 'function' ? model(request, count) : ''
    },
  })
  expect(run.text).toBe('Announced: It flies! 900 km.')
  expect(callsOf(run)).toEqual([
    'lead: Announce the new model, with a figure.',
    'writer: Write one line.',
    'analyst: How far does it fly?',
  ])
})
