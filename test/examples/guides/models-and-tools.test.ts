import { expect, test } from 'vitest'
import { openModel, runHere, runWithModel } from './guide.ts'

const file = 'models-and-tools/corral.toml'
const advice = 'Pack for this: {"celsius":12,"sky":"clear"}'

test('a model calls the tool of a file, and answers from its result', async () => {
  const run = await runWithModel(file, 'What do I pack for Bern?', { team: 'guide' })
  expect(run.text).toBe(advice)
  const tools = run.trace.filter(({ type }) => type === 'tool')
  expect(tools).toMatchObject([{ tool: 'weather', arguments: '{"city":"Bern"}', failed: false }])
})

test('a model with a schema answers with data', async () => {
  const { task } = await runWithModel(file, 'Two jars', { team: 'clerk' })
  expect(task.artifacts?.[0]?.parts).toMatchObject([{ data: { item: 'honey', count: 2 } }])
})

test('the program says the same', async () => {
  const env = await openModel('models-and-tools')
  expect(await runHere('models-and-tools/guide.mjs', { env })).toEqual([
    advice,
    '{"item":"honey","count":2}',
  ])
})
