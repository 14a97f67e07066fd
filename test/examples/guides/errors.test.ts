import { expect, test } from 'vitest'
import { runPrograms, servePrograms, shownOutput } from './guide.ts'

test('the errors of the guide are told as it says', async () => {
  const [AGENT_URL = ''] = await servePrograms(['errors/clerk.mjs'])
  const [handled] = await runPrograms([{ name: 'errors/handle.mjs', env: { AGENT_URL } }])
  expect(handled).toBe(shownOutput('errors', 'node handle.mjs'))
  expect(handled).toContain('taskFailed')
})
