import { expect, test } from 'vitest'
import { cook } from './recipe.ts'

test('a run without an end stops when its money is spent, and says so', async () => {
  const run = await cook('budget-usd', 'A text', { models: [costly('Not yet')], logger: false })
  expect(run.state).toBe('TASK_STATE_FAILED')
  expect(run.text).toContain('budget of 0.005 USD: 0.0054 are spent')
  const costs = run.trace.filter(({ type }) => type === 'reply').map(({ costUsd }) => costUsd)
  expect(costs).toEqual([0.0018, 0.0018, 0.0018])
})

test('a run that is done before goes to its end', async () => {
  const models = [costly('Better'), costly('Better. APPROVED')]
  const run = await cook('budget-usd', 'A text', { models })
  expect(run.text).toBe('Better. APPROVED')
  expect(run.requests.map(({ model }) => model)).toEqual(['gpt-4.1', 'gpt-4.1'])
})

/** An answer of a model that takes 500 tokens in and 100 out. */
function costly(content: string) {
  const frames = [
    { choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: 500, completion_tokens: 100, total_tokens: 600 } },
  ]
  const raw = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')
  return { raw: `${raw}data: [DONE]\n\n` }
}
