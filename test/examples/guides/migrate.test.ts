import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { runProgram, serveProgram } from './programs.ts'

const poem = ['TASK_STATE_WORKING', 'Roses ', 'are ', 'red.', 'TASK_STATE_COMPLETED', '']

describe('from @a2a-js/sdk', () => {
  test.each(['migrate/poet.mjs', 'migrate/kept.mjs', 'migrate/sdk-poet.mjs'])(
    '%s answers our client and the peer',
    async (server) => {
      const env = { AGENT_URL: await serveProgram(server) }
      const clients = ['migrate/ask.mjs', 'migrate/sdk-ask.mjs']
      const ended = await Promise.all(clients.map((client) => runProgram(client, env)))
      for (const { stdout, stderr } of ended)
        expect([stdout.split('\n'), stderr]).toEqual([poem, ''])
    },
  )
})

const programs = ['wrapped', 'press', 'shop', 'essay', 'report'] as const

test.each(programs)('%s.mjs prints what the guide says', async (name) => {
  const page = readFileSync(
    new URL('../../../docs/guides/migrate.md', import.meta.url),
    'utf8',
  )
  const [, shown] = page.split(`node ${name}.mjs\n\`\`\`\n\n\`\`\`text\n`)
  const { code, stdout, stderr } = await runProgram(`migrate/${name}.mjs`)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toBe(shown?.slice(0, shown.indexOf('```')))
})

test('a team of another file is served by two lines', async () => {
  const { code } = await runProgram('migrate/serve.mjs', { PORT: '0' })
  expect(code).toBe(0)
})
