import { expect, test } from 'vitest'
import { runTeam } from '../../../src/testing/index.ts'
import { guideFile, runHere, runWithModel, serveFile } from './guide.ts'

const file = guideFile('people-in-the-loop/corral.toml')
const news = 'News: the bridge is open, from Monday on!'

test('feedback goes back to the writer, and a yes publishes', async () => {
  const answers = ['from Monday on', 'yes']
  const run = await runTeam(file, 'the bridge is open', { answers })
  expect(run.questions).toEqual(['News: the bridge is open!\n\nPublish?', `${news}\n\nPublish?`])
  expect(run.text).toBe(`Published. ${news}`)
})

test('the program says the same', async () => {
  const lines = await runHere('people-in-the-loop/team.mjs')
  expect(lines.at(-1)).toBe(`Published. ${news}`)
})

test('an agent asks, and goes on with the answer', async () => {
  const run = await runTeam(file, 'at eight', { team: 'waiter', answers: ['four'] })
  expect(run.questions).toEqual(['For how many?'])
  expect(run.text).toBe('A table for four, at eight.')
})

test.each([
  [['yes, but less', 'yes'], 'TASK_STATE_COMPLETED', 'Done: 70 € went to Anna.'],
  [['no'], 'TASK_STATE_REJECTED', 'The user did not approve'],
])('a model that wants to pay hears %j', async (answers, state, text) => {
  const run = await runWithModel('people-in-the-loop/treasurer.toml', 'Pay Anna', { answers })
  expect(run.questions[0]).toContain('Treasurer wants to run the tool pay with:')
  expect(run).toMatchObject({ state, text })
})

test('code approves by A2A, and a client of OpenAI by the name of its conversation', async () => {
  const url = await serveFile('people-in-the-loop/corral.toml')
  const env = { AGENT_URL: url }
  expect(await runHere('people-in-the-loop/approve.mjs', { env })).toEqual([
    'TASK_STATE_INPUT_REQUIRED',
    'News: the bridge is open!\n\nPublish?',
    'Published. News: the bridge is open!',
  ])
  const say = async (content: string) => {
    const messages = [{ role: 'user', content }]
    const body = { model: 'press', messages, metadata: { context_id: 'bridge' } }
    const headers = { 'content-type': 'application/json' }
    const place = `${url}/v1/chat/completions`
    const sent = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await fetch(place, sent)).json()
  }
  expect(await say('the bridge is open')).toMatchObject({
    metadata: { context_id: 'bridge', state: 'TASK_STATE_INPUT_REQUIRED' },
  })
  const [choice] = (await say('yes')).choices
  expect(choice.message.content).toBe('Published. News: the bridge is open!')
})
