import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { AgentFunction } from '../../src/agents/function.ts'
import { answerParts, textOf } from '../../src/protocol/task.ts'
import { createServer, type Server } from '../../src/server/server.ts'
import { fromTaskStore } from '../../src/store/custom.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { InMemoryTaskStore } from '../../src/store/task-store.ts'
import { defineTeam, type Team } from '../../src/team/team.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Opens the same store again and again, as restarts do; memory is forgotten by each. */
const stores: Readonly<Record<string, () => Promise<() => Promise<Store>>>> = {
  memory: async () => async () => createMemoryStore(),
  async custom() {
    const tasks = new InMemoryTaskStore()
    return async () => fromTaskStore(tasks)
  },
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), 'corral-context-'))
    closing.push(() => rm(folder, { recursive: true }))
    return () => openSqliteStore(join(folder, 'tasks.db'))
  },
}

async function serve(team: Team, store: Store): Promise<Server> {
  const server = await createServer({ agents: [team], store, timeouts: { shutdownMs: 0 } })
  closing.push(
    () => store.close(),
    () => server.close(),
  )
  return server
}

async function say(server: Server, text: string, contextId = 'conversation'): Promise<string> {
  const message = {
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text }],
    contextId,
  } as const
  const answer = await server.dispatch()('SendMessage', { message }, {})
  return 'task' in answer ? textOf(answerParts(answer.task)) : ''
}

/** Counts the messages of its conversation, and passes on what it was asked. */
const counter: AgentFunction = async ({ parts }, turn) => {
  const text = textOf(parts)
  const count = Number((await turn.context.get('count')) ?? 0) + 1
  turn.context.set('count', text === 'forget' ? null : count)
  return text
}

/** Answers with what others have counted and with what was said before. */
const teller: AgentFunction = async ({ parts }, turn) => {
  const heard = (await turn.conversation(20)).filter(({ role }) => role === 'ROLE_USER')
  const words = heard.map((message) => textOf(message.parts)).join(',')
  return `${textOf(parts)} is ${await turn.context.get('count')} after [${words}]`
}

/** The one counts deep within, the other tells outside. */
function team(): Team {
  const inner = defineTeam({
    id: 'inner',
    name: 'Inner',
    agents: { counter },
    scheduler: { type: 'workflow', steps: [{ agentId: 'counter' }] },
  })
  return defineTeam({
    id: 'team',
    name: 'Team',
    agents: { inner, teller },
    scheduler: { type: 'workflow', steps: [{ agentId: 'inner' }, { agentId: 'teller' }] },
  })
}

/** One member that the user speaks with, and that so hears the conversation. */
function desk(): Team {
  return defineTeam({
    id: 'team',
    name: 'Team',
    agents: { teller },
    scheduler: { type: 'router', defaultAgentId: 'teller' },
  })
}

describe.each(Object.entries(stores))('the values of a conversation (%s)', (name, create) => {
  test('are seen by every member, nested ones too, in every later turn', async () => {
    const open = await create()
    const server = await serve(team(), await open())
    expect(await say(server, 'a')).toBe('a is 1 after []')
    expect(await say(server, 'b')).toBe('b is 2 after []')
    expect(await say(server, 'x', 'another conversation')).toBe('x is 1 after []')
    expect(await say(server, 'c')).toBe('c is 3 after []')
  })

  test.skipIf(name === 'memory')('stay across a restart', async () => {
    const open = await create()
    const restart = async (server: Server): Promise<Server> => {
      await server.close()
      await server.store.close()
      return serve(team(), await open())
    }
    const first = await serve(team(), await open())
    await say(first, 'a')
    const second = await restart(first)
    expect(await say(second, 'b')).toBe('b is 2 after []')
    expect(await say(second, 'forget')).toBe('forget is undefined after []')
    expect(await say(await restart(second), 'c')).toBe('c is 1 after []')
  })
})

describe.each(Object.entries(stores))('what was said in a conversation (%s)', (name, create) => {
  test('is heard by the member that the user speaks with', async () => {
    const open = await create()
    const server = await serve(desk(), await open())
    await say(server, 'a')
    expect(await say(server, 'b')).toContain('after [a]')
    expect(await say(server, 'x', 'another conversation')).toContain('after []')
  })

  test.skipIf(name === 'memory')('and after a restart', async () => {
    const open = await create()
    const first = await serve(desk(), await open())
    await say(first, 'a')
    await first.close()
    await first.store.close()
    expect(await say(await serve(desk(), await open()), 'b')).toContain('after [a]')
  })
})
