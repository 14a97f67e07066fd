import { describe, expect, onTestFinished, test } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import type { TaskHandling } from '../../src/agents/config.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AAgent, type A2AAgentOptions } from '../../src/agents/remote/agent.ts'
import type { HttpReply, HttpRequest } from '../../src/bindings/http.ts'
import type { ServerOptions } from '../../src/server/index.ts'
import { AgentManager } from '../../src/team/manager.ts'
import { defineTeam } from '../../src/team/team.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { serve } from '../acceptance/serve.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

const writer = defineAgent(
  {
    id: 'fantasy-writing-team',
    name: 'Fantasy Story Writing Team',
    description: 'Collaborative team for fantasy story creation',
    abilities: ['world-building', 'prose-writing'],
    version: '2.0.0',
    provider: { organization: 'RANCH Multi-Agent Framework', url: 'https://ranch.example' },
    proficiencies: [{ name: 'creative-writing', proficiency: 'expert' }],
  },
  () => 'Once upon a time',
)

/** A server that speaks 004 and nothing else, and what it was asked. */
async function serve004(agent: Agent): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = []
  const { url } = await serve({
    agents: [agent],
    routes(request: HttpRequest): HttpReply | undefined {
      const { method = '' } = request.body ? JSON.parse(request.body) : {}
      asked.push(`${request.method} ${request.path} ${method}`.trim())
      return request.path === '/rpc' ? undefined : { status: 404, headers: {} }
    },
  })
  return { url: `${url}/rpc`, asked }
}

function remote(endpoint: string, change: Partial<A2AAgentOptions> = {}): A2AAgent {
  const config = { endpoint, timeoutSeconds: 20, maxRetries: 0 }
  const agent = new A2AAgent({ ...config, taskHandling: 'PollUntilComplete', ...change })
  onTestFinished(() => agent.close())
  return agent
}

describe('a server that speaks only 004', () => {
  test('S000-30, S000-81: is discovered by agent/card, its id too', async () => {
    const { url } = await serve004(writer)
    expect(await remote(url).info()).toMatchObject({
      id: 'fantasy-writing-team',
      name: 'Fantasy Story Writing Team',
      description: 'Collaborative team for fantasy story creation',
      capabilities: ['world-building', 'prose-writing'],
      metadata: { type: 'a2a' },
      details: {
        version: '2.0.0',
        provider: { organization: 'RANCH Multi-Agent Framework', url: 'https://ranch.example' },
        proficiencies: [{ name: 'creative-writing', proficiency: 'expert' }],
      },
    })
    const named = remote(url, { id: 'near', agentId: 'far', name: 'Near', capabilities: ['read'] })
    expect(await named.info()).toMatchObject({ id: 'near', name: 'Near', capabilities: ['read'] })
  })

  test('S000-5: a team has the capabilities of such a member', async () => {
    const { url } = await serve004(writer)
    const team = defineTeam({
      id: 'team',
      name: 'Team',
      agents: { writer: remote(url) },
      scheduler: { type: 'workflow', steps: [{ agentId: 'writer' }] },
    })
    expect((await team.info()).capabilities).toEqual(['world-building', 'prose-writing'])
    const manager = new AgentManager()
    expect(await manager.register(remote(url))).toBe('fantasy-writing-team')
    expect(await manager.findByCapability('prose')).toHaveLength(1)
  })

  test('S000-30: its missing card is not looked for again and again', async () => {
    const clock = createFakeClock()
    const { url, asked } = await serve004(writer)
    const agent = remote(url, { clock })
    for (let i = 0; i < 3; i++) await agent.info()
    await runTurn(agent, createTurn('go'))
    await agent.info()
    expect(asked).toEqual([
      'GET /.well-known/agent-card.json',
      'GET /.well-known/agent.json',
      'POST /rpc agent/card',
      'POST /rpc message/stream',
    ])
    clock.advance(300_001)
    await agent.info()
    expect(asked.slice(4)).toEqual(['POST /rpc agent/card'])
  })

  test('S000-30: a card that is not to be had is asked for once, too', async () => {
    const clock = createFakeClock()
    const asked: string[] = []
    const { url } = await serve({
      agents: [writer],
      routes({ method, path }) {
        asked.push(`${method} ${path}`)
        return { status: 404, headers: {} }
      },
    })
    const agent = remote(`${url}/rpc`, { clock, name: 'Near' })
    for (let i = 0; i < 3; i++) expect(await agent.info()).toMatchObject({ name: 'Near' })
    expect(asked).toHaveLength(3)
    clock.advance(60_001)
    await agent.info()
    expect(asked.length).toBeGreaterThan(3)
  })
})

const talker = defineAgent({ name: 'Talker' }, (_message, turn) => turn.reply('Just words'))
const worker = defineAgent({ name: 'Worker' }, async function* (_message, turn) {
  yield turn.status('TASK_STATE_WORKING')
  await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
})
const quick = defineAgent({ name: 'Quick' }, () => 'Done')

/** The wires on which a remote can be met. */
const wires: readonly [string, (agent: Agent) => Promise<string>][] = [
  ['1.0', async (agent) => serveOnly(agent, () => true)],
  ['0.3', async (agent) => serveOnly(agent, ({ protocolVersion }) => protocolVersion === '0.3')],
  ['HTTP+JSON', async (agent) => serveOnly(agent, (one) => one.protocolBinding === 'HTTP+JSON')],
  ['004', async (agent) => (await serve004(agent)).url],
  [
    '004, where the server speaks all',
    async (agent) => `${await serveOnly(agent, () => true)}/rpc`,
  ],
]

async function serveOnly(
  agent: Agent,
  keep: (offer: { protocolBinding: string; protocolVersion: string }) => boolean,
): Promise<string> {
  const interfaces: ServerOptions['interfaces'] = (all) => all.filter(keep)
  return (await serve({ agents: [agent], interfaces, timeouts: { shutdownMs: 0 } })).url
}

const ask = async (url: string, taskHandling: TaskHandling): Promise<unknown[]> =>
  runTurn(remote(url, { taskHandling, name: 'Far' }), createTurn('go'))

describe.each(wires)('a remote over %s', (wire, open) => {
  test.each(['PollUntilComplete', 'ReturnTaskInfo', 'RejectTasks'] as const)(
    'S000-34, S000-41: %s takes a message as it is',
    async (taskHandling) => {
      expect(JSON.stringify(await ask(await open(talker), taskHandling))).toContain('Just words')
    },
  )

  // 004 answers with a task after five seconds; a server that does so at once is below.
  test.skipIf(wire.startsWith('004'))(
    'S000-41: ReturnTaskInfo tells of a task, RejectTasks refuses it',
    async () => {
      const [told] = await ask(await open(worker), 'ReturnTaskInfo')
      expect(told).toMatch(/^Task created: .+ \((submitted|working)\)$/)
      await expect(ask(await open(worker), 'RejectTasks')).rejects.toMatchObject({
        message: 'Far answered with a task; tasks are rejected',
      })
    },
  )

  test('S000-41: a task that is done already is a task; 004 answers with its message', async () => {
    const url = await open(quick)
    if (wire.startsWith('004')) {
      for (const handling of ['RejectTasks', 'ReturnTaskInfo'] as const)
        expect(JSON.stringify(await ask(url, handling))).toContain('Done')
      return
    }
    expect((await ask(url, 'ReturnTaskInfo'))[0]).toMatch(/^Task created: /)
    await expect(ask(url, 'RejectTasks')).rejects.toThrow('tasks are rejected')
  })
})

test('S000-41: a task over 004 is told of or refused, and then cancelled', async () => {
  const asked: string[] = []
  const answers: Readonly<Record<string, unknown>> = {
    'agent/card': { name: 'Old', capabilities: [] },
    'message/send': { task: { id: 'task-1', status: { state: 'queued' } } },
    'task/cancel': { cancelled: true },
  }
  const { url } = await serve({
    agents: [quick],
    routes({ path, body }) {
      if (path !== '/rpc') return { status: 404, headers: {} }
      const { method, id } = JSON.parse(body)
      asked.push(method)
      const reply = JSON.stringify({ jsonrpc: '2.0', result: answers[method], id })
      return { status: 200, headers: { 'content-type': 'application/json' }, body: reply }
    },
  })
  expect(await ask(`${url}/rpc`, 'ReturnTaskInfo')).toEqual(['Task created: task-1 (submitted)'])
  await expect(ask(`${url}/rpc`, 'RejectTasks')).rejects.toThrow('tasks are rejected')
  expect(asked.filter((method) => method !== 'agent/card')).toEqual([
    'message/send',
    'message/send',
    'task/cancel',
  ])
})

test('S000-41: ReturnTaskInfo does not wait for a remote without streams', async () => {
  const { url } = await serve({
    agents: [worker],
    streaming: false,
    timeouts: { shutdownMs: 0 },
  })
  expect((await ask(url, 'ReturnTaskInfo'))[0]).toMatch(/^Task created: /)
})

test('S000-41: an endpoint /rpc is met over its RANCH where the answer hangs on it', async () => {
  const asked: string[] = []
  const { url } = await serve({
    agents: [quick],
    routes({ path, body }) {
      if (body) asked.push(`${path} ${JSON.parse(body).method}`)
      return undefined
    },
  })
  expect(await ask(`${url}/rpc`, 'RejectTasks')).toMatchObject([
    { role: 'ROLE_AGENT', parts: [{ text: 'Done' }] },
  ])
  expect(asked).toEqual(['/rpc message/send'])
  await ask(`${url}/rpc`, 'PollUntilComplete')
  expect(asked.slice(1)).toEqual(['/v1/rpc SendStreamingMessage'])
})

test('S000-41: over RANCH, too, a message says which agents it has passed', async () => {
  const { url } = await serve({
    agents: [defineAgent({ name: 'Far' }, (_message, turn) => turn.hops.join())],
  })
  expect(JSON.stringify(await ask(`${url}/rpc`, 'RejectTasks'))).toMatch(/"a2a:\w+"/)
})
