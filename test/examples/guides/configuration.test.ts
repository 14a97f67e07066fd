import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/app/config/load.ts'
import { runTeam } from '../../../src/testing/index.ts'
import { guideFile } from './guide.ts'

test('the small file serves an agent that answers', async () => {
  const file = guideFile('configuration/corral.toml')
  const { text } = await runTeam(file, 'What?', { logger: false, team: 'writer' })
  expect(text).toBe('You asked: What?')
})

test('the wrong file is refused with both of its problems', async () => {
  await expect(loadConfig(guideFile('configuration/wrong.toml'), {})).rejects.toMatchObject({
    problems: [
      { line: 4, column: 1 },
      { line: 8, column: 1 },
    ],
  })
})
