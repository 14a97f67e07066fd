import { expect, test } from 'vitest'
import type { A2AClient } from '../../../src/client/index.ts'
import { createServer, extractor, listen } from '../../../src/server/index.ts'
import type { Team } from '../../../src/team/index.ts'
import { createInstantClock, runTeam } from '../../../src/testing/index.ts'
import { temporary } from '../../cli/corral.ts'
import { clients, startAuthorizationServer } from '../../client/authorization-server.ts'
import { signIn } from '../../client/browser.ts'
import { importProgram, runHere, serveFile, serveProgram } from './guide.ts'

test('an agent is asked, followed, answered, cancelled, and given files', async () => {
  const AGENT_URL = await serveProgram('remote-agents/agent.mjs')
  const options = { env: { AGENT_URL }, cwd: temporary() }
  const run = (name: string) => runHere(`remote-agents/${name}.mjs`, options)
  expect(await run('call')).toEqual(['Day 1: the hills. Day 2: a castle.'])
  expect(await run('stream')).toEqual([
    expect.stringMatching(/^task TASK_STATE_(SUBMITTED|WORKING)$/),
    'Day 1: the hills.',
    'Day 2: a castle.',
    'Day 3: the coast.',
    'status TASK_STATE_COMPLETED',
  ])
  const later = await run('later')
  expect(later[0]).toMatch(/^begun: TASK_STATE_(SUBMITTED|WORKING)$/)
  expect(later.slice(-2)).toEqual(['Day 3: the coast.', 'done: TASK_STATE_COMPLETED'])
  expect(await run('question')).toEqual([
    'TASK_STATE_INPUT_REQUIRED How many days?',
    'TASK_STATE_COMPLETED Day 1: the hills. Day 2: a castle.',
  ])
  const [rest, ranch, canceled, ...listed] = await run('options')
  expect([rest, ranch, canceled]).toEqual([
    'Day 1: the hills.',
    'Day 1: the hills.',
    'TASK_STATE_CANCELED',
  ])
  expect(listed).toHaveLength(3)
  expect(await run('files')).toEqual(['ticket.txt (text/plain)'])
})

test('a team has it as a member, for callers with a token', async () => {
  const DESK_URL = await serveProgram('remote-agents/agent.mjs')
  const env = { DESK_URL, AGENCY_TOKEN: 'agency-secret' }
  const AGENCY_URL = await serveFile('remote-agents/corral.toml', env)
  const lines = await runHere('remote-agents/token.mjs', { env: { AGENCY_URL } })
  expect(lines).toEqual([
    'unauthenticated: The credentials do not hold',
    'Booked: Day 1: the hills. Day 2: a castle.',
  ])
  const { agency: team } = await importProgram<{ agency: Team }>('remote-agents/member.mjs', env)
  const { text } = await runTeam(team, '1 day')
  await team.close()
  expect(text.trimEnd()).toBe('Booked: Day 1: the hills.')
})

type Login = (
  serverUrl: string,
  login: object,
  third: string | ((words: string) => unknown),
) => A2AClient

test('a client logs in as a service, with a browser and with a code', async () => {
  const { issuer } = await startAuthorizationServer()
  const known = extractor(({ authorization = '' }) =>
    /^Bearer .{20,}/.test(authorization) ? { userId: 'known' } : undefined,
  )
  const server = await createServer({
    agents: [(_, { caller }) => `Hello ${caller.userId}`],
    auth: { authenticators: [known] },
  })
  const { url, close } = await listen(server, { port: 0, host: '127.0.0.1' })
  const { asService, withBrowser, withCode } =
    await importProgram<Record<'asService' | 'withBrowser' | 'withCode', Login>>(
      'remote-agents/login.mjs',
    )
  const login = { issuer, allowInsecure: true, scopes: ['agents'] }
  const user = { login: 'ada', password: 'secret' }
  const { clientId, clientSecret } = clients.service
  const logins = [
    asService(url, { ...login, clientId }, clientSecret),
    withBrowser(url, { ...login, ...clients.commandLine }, async (page) => {
      await signIn(page, user, (at) => at.pathname === '/callback')
    }),
    withCode(
      url,
      { ...login, ...clients.commandLine, clock: createInstantClock() },
      async (words) => {
        const [, page = '', code = ''] = /^(.*): (.*)$/.exec(words) ?? []
        await signIn(page, { ...user, user_code: code })
      },
    ),
  ]
  for (const client of logins) {
    expect(await client.run('Hello')).toBe('Hello known')
    await client.close()
  }
  await close()
})
