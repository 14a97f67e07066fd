import { expect, test } from 'vitest'
import { cook } from './recipe.ts'

test('a key is taken out of an answer, which then passes the judge', async () => {
  const run = await cook('guards')
  expect(run.text).toBe('Into a fund. Its key: [secret removed]')
  expect(JSON.stringify(run.events)).not.toContain('sk-abcd')
  const judged = String(run.requests[1]?.messages.at(-1)?.content)
  expect(judged).toContain('Into a fund. Its key: [secret removed]')
  expect(run.delegations.map(({ member }) => member)).toEqual(['adviser', 'judge'])
})

test('a question off topic is rejected, and no model is asked', async () => {
  const run = await cook('guards', { message: 'Where is Kiel?' })
  expect(run.state).toBe('TASK_STATE_REJECTED')
  expect(run.text).toContain('only questions about money')
  expect(run.requests).toEqual([])
})

test('an answer with a word that nobody may say fails before the judge is asked', async () => {
  const run = await cook('guards', { model: ['We GUARANTEE ten percent.'] })
  expect(run.state).toBe('TASK_STATE_FAILED')
  expect(run.text).not.toContain('ten percent')
  expect(run.requests).toHaveLength(1)
})

test('what the judge blocks fails, with the reason', async () => {
  const run = await cook('guards', {
    model: ['Into a casino.', '{"verdict":"block","reason":"too bold"}'],
  })
  expect(run.state).toBe('TASK_STATE_FAILED')
  expect(run.text).toContain('too bold')
  expect(
    run.trace.filter(({ type, verdict }) => type === 'guard' && verdict === 'block'),
  ).toHaveLength(1)
})
