import { expect, onTestFinished, test } from 'vitest'
import { A2AClient } from '../../../src/client/client.ts'
import type { TeamServer } from '../../../src/team/index.ts'
import { runTeam } from '../../../src/testing/index.ts'
import { listen, openGuide } from './guide.ts'

const guide = openGuide('first-team')
const story =
  'Once upon a time. Then a fox wakes up. Then a fox gets lost. Then a fox comes home. The end.'

test('the team of the file plans, then writes', async () => {
  const run = await runTeam(guide.path('corral.toml'), 'a fox')
  expect(run.text).toBe(story)
  expect(run.delegations.map(({ member }) => member)).toEqual(['planner', 'writer'])
})

test('the team in code is served, and says the same', async () => {
  const lines = listen()
  const { server } = await guide.load('team.mjs')
  const { url = '', close } = server as TeamServer // what the program exports
  onTestFinished(() => close.call(server))
  expect(lines).toEqual([`Writers are served at ${url}`])
  const client = new A2AClient(url)
  onTestFinished(() => client.close())
  expect(await client.run('a fox')).toBe(story)
})

test('models take the place of the functions', async () => {
  listen()
  const { text } = await guide.run('models.toml', 'A sailor')
  expect(text).toBe('Once upon a time: A sailor leaves. It storms. A sailor returns. The end.')
})
