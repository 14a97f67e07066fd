import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig, parseConfig } from '../../src/app/config/load.ts'
import { createRoster, createTeamFromConfig, type Roster } from '../../src/app/roster.ts'
import { toServerOptions } from '../../src/app/serve.ts'
import { watchConfig } from '../../src/app/watch.ts'
import { createServer } from '../../src/server/index.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

let directory = ''

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'corral-'))
  await writeFile(join(directory, 'a.js'), 'export default () => "from a"')
})

afterEach(async () => {
  await rm(directory, { recursive: true })
})

const agent = (id: string, file = 'a.js') => `
[[agents]]
id = "${id}"
name = "${id}"
endpoint = "./${file}"
protocol = "module"
`
const dead = `
[[agents]]
id = "dead"
name = "Dead"
endpoint = "http://127.0.0.1:1"
protocol = "a2a"
timeout_seconds = 1
max_retries = 0
capabilities = ["research"]
`
const team = (id: string, ...members: string[]) => `
[[teams]]
id = "${id}"
name = "${id}"
description = ""
[teams.router_config]
default_agent_id = "${members[0]}"
${members.map((member) => `[[teams.agents]]\nagent_id = "${member}"`).join('\n')}
`

async function replyOf(roster: Roster): Promise<string> {
  const [first] = roster.agents
  if (!first) throw new Error('nobody')
  return JSON.stringify(await runTurn(first, createTurn('x')))
}

describe('a roster', () => {
  test('holds teams before agents, and inner teams are made before outer ones', async () => {
    const config = parseConfig(agent('a') + team('outer', 'inner') + team('inner', 'a'))
    const roster = await createRoster(config, { directory })
    const infos = await Promise.all(roster.agents.map((one) => one.info()))
    expect(infos.map(({ id }) => id)).toEqual(['outer', 'inner', 'a'])
    expect(await replyOf(roster)).toContain('from a')
    await roster.close()
  })

  test('leaves out members that are not to be served on their own', async () => {
    const config = parseConfig(`${agent('a')}expose = false\n${agent('b')}${team('t', 'a')}`)
    const roster = await createRoster(config, { directory })
    const infos = await Promise.all(roster.agents.map((one) => one.info()))
    expect(infos.map(({ id }) => id)).toEqual(['t', 'b'])
    expect(await replyOf(roster)).toContain('from a')
    await roster.close()
  })

  test('R-W14, R-W10: a member that is down does not stop the start', async () => {
    const config = parseConfig(agent('a') + dead + team('t', 'a', 'dead'))
    const roster = await createRoster(config, { directory })
    expect(await replyOf(roster)).toContain('from a')
    expect((await roster.teams[0]?.info())?.capabilities).toEqual(['research'])
    expect((await roster.teams[0]?.health())?.healthy).toBe(false)
    await roster.close()
  })

  test('checks a configuration again that was changed after it was read', async () => {
    const config = parseConfig(agent('a') + team('t', 'a'))
    const changed = { ...config, teams: config.teams.map((one) => ({ ...one, agents: [] })) }
    await expect(createRoster(changed, { directory })).rejects.toThrow('at least one member')
    expect(structuredClone(config)).toEqual(config)
  })

  test('names the agent whose file is missing', async () => {
    const config = parseConfig(agent('a') + agent('b', 'none.js'))
    await expect(createRoster(config, { directory })).rejects.toThrow(
      'Agent "b": Invalid field value for endpoint: ./none.js (there is no such file)',
    )
  })
})

test('R-W10: time, credentials and retries of the file are the member’s', async () => {
  const seen: { url: string | undefined; key: unknown }[] = []
  // It has no card, neither by GET nor by `agent/card`, and never answers a message.
  const deaf = createHttpServer(async (request, response) => {
    const body = await text(request)
    if (request.method === 'GET' || body.includes('agent/card')) response.writeHead(404).end()
    else seen.push({ url: request.url, key: request.headers['x-team-key'] })
  })
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
  const address = deaf.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const config = `
[[agents]]
id = "remote"
name = "Remote"
endpoint = "http://127.0.0.1:${port}/rpc"
protocol = "a2a"
timeout_seconds = 0.2
max_retries = 0
auth = { type = "api_key", key = "secret", header = "X-Team-Key" }
${team('t', 'remote')}`
  const roster = await createRoster(parseConfig(config), { directory })
  const failure = await replyOf(roster).catch((error: unknown) => error)
  expect(['timeout', 'agentUnavailable']).toContain((failure as { code: string }).code) // an A2AError
  expect(seen).toEqual([{ url: '/rpc', key: 'secret' }])
  await roster.close()
  deaf.closeAllConnections()
  await new Promise((resolve) => deaf.close(resolve))
})

describe('one team of a configuration', () => {
  test('is made with what it needs and nothing else', async () => {
    const config = parseConfig(agent('a') + agent('b', 'none.js') + team('t', 'a') + team('u', 'b'))
    const made = await createTeamFromConfig(config, 't', { directory })
    expect(made.manager.listIds()).toEqual(['a', 't'])
  })

  test('that does not exist is answered with those that do', async () => {
    const config = parseConfig(agent('a') + team('t', 'a'))
    await expect(createTeamFromConfig(config, 'x', { directory })).rejects.toThrow(
      'There is no team "x"; teams: t',
    )
  })
})

test('a changed file gives another roster, a broken one leaves everything as it is', async () => {
  const path = join(directory, 'corral.toml')
  await writeFile(path, agent('a') + team('t', 'a'))
  const config = await loadConfig(path, {})
  const rosters: Roster[] = []
  const errors: unknown[] = []
  const stop = watchConfig(path, config, {
    env: {},
    deps: { directory },
    onRoster: (roster) => void rosters.push(roster),
    onError: (error) => void errors.push(error),
  })
  try {
    await writeFile(path, 'agents = 1')
    await expect.poll(() => errors.length).toBeGreaterThan(0)
    expect(rosters).toEqual([])
    await writeFile(join(directory, 'b.js'), 'export default () => "from b"')
    await writeFile(path, agent('b', 'b.js') + team('t', 'b'))
    await expect.poll(() => rosters.length).toBeGreaterThan(0)
    const last = rosters.at(-1)
    expect(last && (await replyOf(last))).toContain('from b')
  } finally {
    stop()
  }
})

test('R-W9: auth, CORS, limits and webhooks of the file reach the server', async () => {
  const { server } = parseConfig(`${agent('a')}
[server]
public_url = "https://agents.example.com"
trace = false
[[server.auth.api_keys]]
key = "secret"
user = "alice"
[[server.auth.bearer_tokens]]
token = "token"
user = "bob"
[server.cors]
origins = ["https://app.example.com"]
[server.limits]
requests = 2
[server.webhooks]
enabled = true
`)
  const roster = await createRoster(parseConfig(agent('a')), { directory })
  const made = await createServer({ agents: roster.agents, ...toServerOptions(server) })
  const ask = (headers: Record<string, string>) =>
    made.handle({
      method: 'POST',
      path: '/rpc',
      query: '',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{"jsonrpc":"2.0","method":"message/send","params":{"message":{"role":"user","parts":[{"type":"text","text":"x"}]}},"id":1}',
    })
  expect((await ask({})).status).toBe(401)
  expect((await ask({ 'x-api-key': 'secret' })).status).toBe(200)
  expect((await ask({ authorization: 'Bearer token' })).status).toBe(200)
  const known = await ask({ 'x-api-key': 'secret', origin: 'https://app.example.com' })
  expect(known.headers['access-control-allow-origin']).toBe('https://app.example.com')
  expect((await ask({ 'x-api-key': 'secret' })).status).toBe(429)
  const card = await made.handle({
    method: 'GET',
    path: '/.well-known/agent-card.json',
    query: '',
    headers: {},
    body: '',
  })
  expect(String(card.body)).toContain('https://agents.example.com')
  expect(String(card.body)).toContain('"pushNotifications":true')
  expect(String(card.body)).not.toContain('extensions:trace')
  await made.close()
})

test('what a file says is checked when it is read, and not again when it is made', async () => {
  const config = parseConfig(`${agent('a')}\n${team('t', 'a')}`)
  expect([...(config.plans?.keys() ?? [])]).toEqual(config.agents)
  // It would not pass a check: that it can be made shows that there was none.
  const spoilt = {
    ...config,
    teams: config.teams.map((one) => ({ ...one, version: 'not a version' })),
  }
  const { plans = new Map() } = config
  const roster = await createRoster({ ...spoilt, plans }, { directory })
  expect(roster.teams).toHaveLength(1)
  await roster.close()
  await expect(createRoster(spoilt, { directory })).rejects.toThrow('semantic version')
})
