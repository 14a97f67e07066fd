import { expect, onTestFinished, test } from 'vitest'
import { A2AClient } from '../../../src/client/client.ts'
import type { StartedServer } from '../../../src/server/index.ts'
import { runTeam } from '../../../src/testing/index.ts'
import { guideFile, importProgram, listen, runWithModel } from './guide.ts'

const story =
  'Once upon a time. Then a fox wakes up. Then a fox gets lost. Then a fox comes home. The end.'

test('the team of the file plans, then writes', async () => {
  const run = await runTeam(guideFile('first-team/corral.toml'), 'a fox')
  expect(run.text).toBe(story)
  expect(run.delegations.map(({ member }) => member)).toEqual(['planner', 'writer'])
})

test('the team in code is served, and says the same', async () => {
  const lines = listen()
  const { server } = await importProgram<{ server: StartedServer }>('first-team/team.mjs')
  onTestFinished(() => server.close())
  const { url } = server
  expect(lines).toEqual([`Writers are served at ${url}`])
  const client = new A2AClient(url)
  onTestFinished(() => client.close())
  expect(await client.run('a fox')).toBe(story)
})

test('models take the place of the functions', async () => {
  const { text } = await runWithModel('first-team/models.toml', 'A sailor')
  expect(text).toBe('Once upon a time: A sailor leaves. It storms. A sailor returns. The end.')
})
