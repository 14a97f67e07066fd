import { createServer as createTcpServer } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Agent } from '../../src/agents/agent.ts'
import { A2AAgent } from '../../src/agents/remote/agent.ts'
import { TeamServer, type TeamServerOptions } from '../../src/app/team-server.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { apiKey } from '../../src/server/index.ts'
import { systemClock } from '../../src/shared/clock.ts'
import type { Logger } from '../../src/shared/log.ts'
import { silent } from '../../src/shared/log.ts'
import { AgentManager } from '../../src/team/manager.ts'
import { defineTeam, Team } from '../../src/team/team.ts'
import { member, untilCancelled } from '../fixtures/members.ts'

const servers: TeamServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.shutdown()))
})

function teamOf(agents: Record<string, Agent>, id = 'team'): Team {
  return defineTeam({
    id,
    name: `Team ${id}`,
    description: 'A team for tests',
    agents,
    scheduler: { type: 'workflow', steps: Object.keys(agents).map((agentId) => ({ agentId })) },
  })
}

async function start(team: Team, options: TeamServerOptions = {}): Promise<string> {
  const server = new TeamServer(team, 0, { host: '127.0.0.1', ...options })
  servers.push(server)
  await server.start()
  return `http://127.0.0.1:${server.port}`
}

async function rpc(url: string, method: string, params: unknown, path = '/rpc'): Promise<unknown> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', method, params, id: 1 }),
  })
  return response.json()
}

function said(text: string): unknown {
  return { message: { role: 'user', parts: [{ type: 'text', text }] } }
}

function recorded(): Logger & { readonly lines: string[] } {
  const lines: string[] = []
  const write = (_fields: object, message: string): void => void lines.push(message)
  return { ...silent, info: write, warn: write, lines }
}

function remote(endpoint: string): A2AAgent {
  return new A2AAgent({
    endpoint,
    timeoutSeconds: 20,
    maxRetries: 0,
    taskHandling: 'PollUntilComplete',
    id: 'remote',
    name: 'Remote',
  })
}

describe('a TeamServer', () => {
  test('AT-1, R-W1: runs the team and answers with its story', async () => {
    const writer = member('writer', () => 'Once upon a time, in a realm of dragons...')
    const url = await start(teamOf({ writer }))
    const answer = await rpc(url, 'message/send', {
      message: {
        role: 'user',
        parts: [{ type: 'text', text: 'Write a fantasy story about dragons' }],
      },
    })
    expect(answer).toEqual({
      jsonrpc: '2.0',
      result: {
        message: {
          role: 'agent',
          parts: [{ type: 'text', text: 'Once upon a time, in a realm of dragons...' }],
        },
      },
      id: 1,
    })
    expect(writer.asked).toEqual(['Write a fantasy story about dragons'])
  })

  test('R-W3: streams what the last member says as it says it', async () => {
    let go = (): void => {}
    const second = new Promise<void>((resolve) => {
      go = resolve
    })
    const writer = member('writer', async function* () {
      yield 'first '
      await second
      yield 'second'
    })
    const url = await start(teamOf({ writer }))
    const response = await fetch(`${url}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'SendStreamingMessage',
        params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] } },
      }),
    })
    let heard = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      heard += decoder.decode(chunk, { stream: true })
      if (heard.includes('first ')) go()
    }
    expect(heard.indexOf('first ')).toBeLessThan(heard.indexOf('second'))
    expect(heard).toContain('TASK_STATE_COMPLETED')
  })

  test('S004-3: says where it starts where no logger is given, and nothing to one that is false', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => said.mockRestore())
    for (const more of [{}, { logger: false as const }]) {
      const server = new TeamServer(teamOf({ a: member('a') }), 0, { host: '127.0.0.1', ...more })
      await server.start()
      await server.shutdown()
    }
    expect(said.mock.calls).toEqual([['Starting TeamServer on 127.0.0.1:0']])
  })

  test('goes from Initialized through Running to Shutdown, and says where it starts', async () => {
    const logger = recorded()
    const server = new TeamServer(teamOf({ a: member('a') }), 0, { logger })
    expect(server.state).toBe('Initialized')
    const starting = server.start()
    expect(server.state).toBe('Binding')
    await starting
    expect(server.state).toBe('Running')
    expect(server.port).toBeGreaterThan(0)
    expect(logger.lines[0]).toBe('Starting TeamServer on 0.0.0.0:0')
    expect(logger.lines.some((line) => line.includes('no auth is set'))).toBe(true)
    await expect(server.start()).rejects.toThrow('Running already')
    const stopped = server.stopped()
    await server.shutdown()
    await server.shutdown()
    await stopped
    expect(server.state).toBe('Shutdown')
  })

  test('ends what its members hold when it is closed, and not when it is shut down', async () => {
    let closed = 0
    const close = async () => void closed++
    const server = new TeamServer(teamOf({ a: { ...member('a'), close } }), 0, {
      host: '127.0.0.1',
      logger: false,
    })
    await server.start()
    await server.shutdown()
    expect(closed).toBe(0)
    await server.close()
    await server.close()
    expect(closed).toBe(1)
  })

  test('is stopped by a shutdown that comes while it starts', async () => {
    const server = new TeamServer(teamOf({ writer: member('writer', () => 'x') }), 0, {
      host: '127.0.0.1',
      logger: false,
    })
    servers.push(server)
    const started = server.start()
    await server.shutdown()
    await started
    expect(server.state).toBe('Shutdown')
    await expect(fetch(`http://127.0.0.1:${server.port}/health`)).rejects.toThrow()
  })

  test('does not warn when callers must prove who they are', async () => {
    const logger = recorded()
    const auth = { authenticators: [apiKey({ keys: { secret: 'alice' } })] }
    await start(teamOf({ a: member('a') }), { logger, auth, host: '0.0.0.0' })
    expect(logger.lines.filter((line) => line.includes('no auth'))).toEqual([])
  })

  test('AT-20: a port in use is a clear error, and the server can be started later', async () => {
    const taken = createTcpServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const address = taken.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const server = new TeamServer(teamOf({ a: member('a') }), port, { host: '127.0.0.1' })
    servers.push(server)
    await expect(server.start()).rejects.toThrow(/in use/i)
    expect(server.state).toBe('Initialized')
    await new Promise((resolve) => taken.close(resolve))
    await server.start()
    expect(server.state).toBe('Running')
  })

  test('refuses a team whose member has gone, and a port that is none', async () => {
    const manager = new AgentManager()
    manager.registerWithId('a', member('a'))
    const config = {
      id: 't',
      name: 'T',
      description: '',
      agents: [{ agentId: 'a' }],
      scheduler: { type: 'router', defaultAgentId: 'a' },
    } as const
    const team = new Team(config, manager)
    expect(() => new TeamServer(team, 70_000)).toThrow('not 70000')
    manager.remove('a')
    expect(() => new TeamServer(team, 0)).toThrow('agent "a" is not registered')
  })

  test('R-W4, C-49: a member’s failure is a short error with the request’s id', async () => {
    const broken = member('broken', () => {
      throw new Error('at /srv/secret/file.ts:12')
    })
    const down = member('down', () => {
      throw new A2AError('agentUnavailable', 'http://10.0.0.7 refused')
    })
    const url = await start(teamOf({ broken }))
    expect(await rpc(url, 'message/send', said('x'))).toMatchObject({
      error: { code: -32002, message: 'An agent of the team could not answer' },
      id: 1,
    })
    const other = await start(teamOf({ down }))
    const answer = await rpc(other, 'message/send', said('x'))
    expect(answer).toMatchObject({ error: { code: -32003 }, id: 1 })
    expect(JSON.stringify(answer)).not.toMatch(/10\.0\.0\.7|srv/)
  })

  test('R-W2: tasks of the same words have ids of their own that say nothing', async () => {
    const waiting = member('waiting', (_text, turn) => untilCancelled(turn))
    const url = await start(teamOf({ waiting }), { timeouts: { shutdownMs: 0 } })
    const ids: string[] = []
    for (let i = 0; i < 2; i++) {
      const answer = await rpc(url, 'message/send', {
        ...(said('same words') as object),
        immediate: false,
      })
      ids.push((answer as { result: { task: { id: string } } }).result.task.id) // RANCH's shape of a task
    }
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^task-[0-9a-f-]{36}$/)
  })
})

describe('teams over HTTP', () => {
  test('a team can be a member of another team in another server', async () => {
    const inner = await start(teamOf({ leaf: member('leaf') }, 'inner'))
    const outer = await start(teamOf({ inner: remote(inner) }, 'outer'))
    expect(await rpc(outer, 'message/send', said('x'))).toMatchObject({
      result: { message: { parts: [{ type: 'text', text: 'leaf(x)' }] } },
    })
  })

  test('cancel in a team of three levels reaches the member behind HTTP', async () => {
    let stopped = false
    const leaf = member('leaf', (_text, turn) => {
      turn.signal.addEventListener('abort', () => {
        stopped = true
      })
      return untilCancelled(turn)
    })
    const inner = await start(teamOf({ leaf }, 'inner'))
    const middle = teamOf({ inner: remote(inner) }, 'middle')
    const outer = await start(teamOf({ middle }, 'outer'))
    const answer = await rpc(outer, 'message/send', { ...(said('x') as object), immediate: false })
    const { id } = (answer as { result: { task: { id: string } } }).result.task // RANCH's shape of a task
    await expect.poll(() => leaf.turns.length).toBe(1)
    expect(await rpc(outer, 'task/cancel', { task_id: id })).toMatchObject({
      result: { cancelled: true },
    })
    await expect.poll(() => stopped).toBe(true)
  })

  test('R-W7: a team that reaches itself over HTTP is refused, not endless', async () => {
    // The servers ask each other who they are; on this clock they lose patience a hundred times sooner.
    const clock = {
      ...systemClock,
      after: (ms: number, call: () => void) => systemClock.after(ms / 100, call),
    }
    const manager = new AgentManager({ clock })
    manager.registerWithId('loop', member('placeholder'))
    const config = {
      id: 'ring',
      name: 'Ring',
      description: '',
      agents: [{ agentId: 'loop' }],
      scheduler: { type: 'router', defaultAgentId: 'loop' },
    } as const
    const url = await start(new Team(config, manager))
    manager.registerWithId('loop', remote(url), { replace: true })
    expect(await rpc(url, 'message/send', said('x'))).toMatchObject({ error: { code: -32002 } })
  })
})
