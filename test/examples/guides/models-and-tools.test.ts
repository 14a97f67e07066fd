import { expect, test } from 'vitest'
import { listen, openGuide } from './guide.ts'

const guide = openGuide('models-and-tools')
const advice = 'Pack for this: {"celsius":12,"sky":"clear"}'

test('a model calls the tool of a file, and answers from its result', async () => {
  listen()
  const run = await guide.run('corral.toml', 'What do I pack for Bern?', { team: 'guide' })
  expect(run.text).toBe(advice)
  const tools = run.trace.filter(({ type }) => type === 'tool')
  expect(tools).toMatchObject([{ tool: 'weather', arguments: '{"city":"Bern"}', failed: false }])
})

test('a model with a schema answers with data', async () => {
  listen()
  const { task } = await guide.run('corral.toml', 'Two jars', { team: 'clerk' })
  expect(task.artifacts?.[0]?.parts).toMatchObject([{ data: { item: 'honey', count: 2 } }])
})

test('the program says the same', async () => {
  const lines = listen()
  const { model } = await guide.load('model.mjs')
  const { url } = model as { url: string } // what the stand-in exports
  await guide.load('guide.mjs', { OPENAI_BASE_URL: url, OPENAI_API_KEY: 'none' })
  expect(lines.slice(-2)).toEqual([advice, '{"item":"honey","count":2}'])
})
