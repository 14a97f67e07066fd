import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runPrograms, servePrograms } from './programs.ts'

const page = readFileSync(new URL('../../../docs/guides/errors.md', import.meta.url), 'utf8')

test('the errors of the guide are told as it says', async () => {
  const [AGENT_URL = ''] = await servePrograms(['errors/clerk.mjs'])
  const [handled] = await runPrograms([{ file: 'errors/handle.mjs', env: { AGENT_URL } }])
  expect(page).toContain(`node handle.mjs\n\`\`\`\n\n\`\`\`text\n${handled}\`\`\``)
  expect(handled).toContain('taskFailed')
}, 90_000)
