import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseConfig } from '../../src/app/config/load.ts'
import { TeamServer } from '../../src/app/team-server.ts'
import type { SchedulerConfig, TeamConfig } from '../../src/team/config.ts'
import { AgentManager } from '../../src/team/manager.ts'
import { defineTeam, Team } from '../../src/team/team.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { member } from '../fixtures/members.ts'
import { get, rpc, serve } from './serve.ts'

function workflowOf<Id extends string>(...ids: readonly Id[]): SchedulerConfig<Id> {
  return { type: 'workflow', steps: ids.map((agentId, i) => ({ agentId, order: i + 1 })) }
}

function configOf(
  id: string,
  agents: readonly string[],
  scheduler: SchedulerConfig = workflowOf(...agents),
): TeamConfig {
  const members = agents.map((agentId) => ({ agentId }))
  return { id, name: id, description: '', agents: members, scheduler }
}

function managerOf(...ids: readonly string[]): AgentManager {
  const manager = new AgentManager()
  for (const id of ids) manager.registerWithId(id, member(id))
  return manager
}

const send = (text: string) => ({
  method: 'message/send',
  params: { message: { role: 'user', parts: [{ type: 'text', text }] } },
})

async function ask(url: string, text: string): Promise<string> {
  return (await rpc(`${url}/rpc`, send(text))).result.message.parts[0].text
}

describe('AT-20: what is wrong with a team is said when it is made', () => {
  const boss: SchedulerConfig = { type: 'supervisor', supervisorAgentId: 'boss' }

  test.each([
    ['an unregistered member', configOf('t', ['a', 'ghost']), 'agent "ghost" is not registered'],
    ['a missing supervisor', configOf('t', ['a'], boss), 'supervisor "boss" is not a member'],
    ['an empty workflow', configOf('t', ['a'], workflowOf()), 'needs at least one step'],
    ['an empty team', configOf('t', []), 'needs at least one member'],
  ])('%s', (_name, config, words) => {
    expect(() => new Team(config, managerOf('a'))).toThrow(`Team "t": `)
    expect(() => new Team(config, managerOf('a'))).toThrow(words)
  })

  test('A that contains B that contains A', () => {
    const manager = managerOf('B')
    manager.registerWithId('A', new Team(configOf('A', ['B']), manager))
    expect(() => new Team(configOf('B', ['A']), manager)).toThrow(
      'Team "B": a team cannot contain itself (B > A > B)',
    )
  })

  test('a port in use is said at the start', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    onTestFinished(() => void taken.close())
    const address = taken.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const team = new Team(configOf('t', ['a']), managerOf('a'))
    const server = new TeamServer(team, port, { host: '127.0.0.1' })
    await expect(server.start()).rejects.toThrow(new RegExp(`${port}.*in use`, 'i'))
  })
})

describe('AT-20: a team at work', () => {
  test('three levels of teams answer like one agent', async () => {
    const wrap = (id: string, inside: Team) =>
      defineTeam({ id, name: id, agents: { inside }, scheduler: workflowOf('inside') })
    const first = new Team(configOf('one', ['a', 'b']), managerOf('a', 'b'))
    const { url } = await serve(wrap('three', wrap('two', first)))
    expect(await ask(url, 'x')).toBe('b(a(x))')
  })

  test('is healthy only when all members are', async () => {
    let isWell = true
    const manager = managerOf('a')
    const health = async () => ({ healthy: isWell })
    manager.registerWithId('b', member('b', undefined, { health }))
    const clock = createFakeClock()
    const agents = [new Team(configOf('t', ['a', 'b']), manager)]
    const healthy = await serve({ agents, clock })
    expect((await get(`${healthy.url}/health`)).status).toBe(200)
    isWell = false
    manager.registerWithId('b', member('b', undefined, { health }), { replace: true })
    clock.advance(2_000)
    const { status, json } = await get(`${healthy.url}/health`)
    expect(status).toBe(503)
    expect(json.agents[0].members).toMatchObject({ a: { healthy: true }, b: { healthy: false } })
  })

  test('a workflow keeps its order the second time, and fifty times at once', async () => {
    const { url } = await serve(new Team(configOf('t', ['a', 'b', 'c']), managerOf('a', 'b', 'c')))
    expect(await ask(url, 'first')).toBe('c(b(a(first)))')
    expect(await ask(url, 'second')).toBe('c(b(a(second)))')
    const texts = Array.from({ length: 50 }, (_, i) => `run ${i}`)
    const answers = await Promise.all(texts.map((text) => ask(url, text)))
    expect(answers).toEqual(texts.map((text) => `c(b(a(${text})))`))
  })
})

describe('AT-20: the ranges of a configuration', () => {
  const a2a = (line: string) => `
[[agents]]
id = "a"
name = "A"
endpoint = "http://127.0.0.1:1/rpc"
protocol = "a2a"
${line}
`
  const model = (line: string) => `
[[agents]]
id = "m"
name = "M"
endpoint = "http://127.0.0.1:1/v1"
protocol = "openai"
[agents.metadata]
api_key = "key"
${line}
`

  test.each([
    a2a('timeout_seconds = 0.001'),
    a2a('timeout_seconds = 299'),
    a2a('timeout_seconds = 3600'),
    a2a('max_retries = 0'),
    a2a('max_retries = 10'),
    model('temperature = 0'),
    model('temperature = "2.0"'),
    model('max_tokens = 1'),
    model('max_tokens = "4096"'),
  ])('hold %s', (text) => {
    expect(parseConfig(text).agents).toHaveLength(1)
  })

  test.each([
    [a2a('timeout_seconds = 0'), /timeout_seconds: 0/],
    [a2a('timeout_seconds = 400000000'), /timeout_seconds: 400000000/],
    [a2a('max_retries = 11'), /max_retries: 11/],
    [model('temperature = 2.01'), /temperature: 2.01/],
    [model('temperature = -0.1'), /temperature: -0.1/],
    [model('max_tokens = 0'), /max_tokens: 0/],
    [model('max_tokens = 4097'), /max_tokens: 4097/],
  ])('refuse %s', (text, words) => {
    expect(() => parseConfig(text)).toThrow(words)
  })

  test('a protocol that nobody knows is refused where it stands', () => {
    expect(() => parseConfig(a2a('').replace('"a2a"', '"smoke"'))).toThrow(/6:\d+: .*smoke|6:\d+/)
  })
})
