import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Agent, Turn } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { Json, Message, SendMessageResponse, Task } from '../../src/protocol/types.ts'
import { createServer, type Server } from '../../src/server/server.ts'
import { fromTaskStore } from '../../src/store/custom.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { InMemoryTaskStore } from '../../src/store/task-store.ts'
import { teamOf } from '../team/scene.ts'

const stores: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => createMemoryStore(),
  custom: async () => fromTaskStore(new InMemoryTaskStore()),
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), 'corral-'))
    const store = await openSqliteStore(join(folder, 'tasks.db'))
    onTestFinished(async () => {
      await store.close()
      await rm(folder, { recursive: true })
    })
    return store
  },
}

/** What JavaScript lets an agent do with what it is given, whatever the types say. */
function scribble(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const member of Object.values(value)) scribble(member)
  for (const name of Object.keys(value)) Reflect.set(value, name, 'scribbled')
  Reflect.set(value, 'more', 'scribbled')
}

async function serve(agent: Agent, store: Store): Promise<Server> {
  const server = await createServer({ agents: [agent], store })
  onTestFinished(() => server.close())
  return server
}

async function send(server: Server, text: string, more: Partial<Message> = {}): Promise<Task> {
  const message = {
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text }, { data: { nested: { list: [1] } } }],
    metadata: { note: 'mine' },
    ...more,
  } as const
  const request = { message, metadata: { of: 'the request' } }
  return taskOf(await server.dispatch()('SendMessage', request, {}))
}

function taskOf(answer: SendMessageResponse): Task {
  if ('task' in answer) return answer.task
  throw new Error('The answer is a message')
}

/** An agent that asks once and then answers, after it has done something with its message and its turn. */
function asking(act: (message: Message, turn: Turn) => Promise<void> | void): Agent {
  return defineAgent({ name: 'Asking' }, async function* (message, turn) {
    await act(message, turn)
    if (turn.number === 1) {
      yield turn.artifact({ artifactId: 'draft', parts: [{ text: 'a draft' }] })
      yield turn.ask('And then?')
    } else yield 'done'
  })
}

describe.each(Object.entries(stores))('S000-102: what an agent gets is its own (%s)', (_, open) => {
  test('the message, the history, the task and the conversation', async () => {
    const server = await serve(
      asking(async (message, turn) => {
        scribble(message)
        scribble(turn.message)
        scribble(turn.history)
        scribble(turn.task)
        scribble(turn.metadata)
        scribble(await turn.conversation(10))
      }),
      await open(),
    )
    const first = await send(server, 'one')
    const second = await send(server, 'two', { taskId: first.id })
    expect(second.status.state).toBe('TASK_STATE_COMPLETED')
    const read = await server.dispatch()('GetTask', { id: first.id }, {})
    expect(JSON.stringify([first, second, read])).not.toContain('scribbled')
    expect(read.history?.map(({ parts }) => textOf(parts))).toEqual(['one', 'And then?', 'two'])
    const records = await server.store.records(first.id, 0)
    expect(JSON.stringify(records)).not.toContain('scribbled')
  })

  test('the values that it keeps', async () => {
    const seen: (Json | undefined)[] = []
    const server = await serve(
      asking(async (_message, turn) => {
        const kept = turn.load('kept')
        seen.push(structuredClone(kept), structuredClone(await turn.context.get('shared')))
        scribble(kept)
        const value = { list: ['kept'] }
        if (kept === undefined) await turn.save('kept', value)
        turn.context.set('shared', value)
        scribble(value)
        scribble(await turn.context.get('shared'))
      }),
      await open(),
    )
    const { id } = await send(server, 'one')
    await send(server, 'two', { taskId: id })
    const value = { list: ['kept'] }
    expect(seen).toEqual([undefined, undefined, value, value])
  })

  test('in a team: neither siblings nor the next member see what one did to its message', async () => {
    const heard: string[] = []
    const hear = (message: Message): void => void heard.push(JSON.stringify(message.parts))
    const scribbler = defineAgent({ name: 'Scribbler' }, (message) => {
      scribble(message)
      return 'from the scribbler'
    })
    const listener = defineAgent({ name: 'Listener' }, async (message) => {
      await Promise.resolve()
      hear(message)
      return 'from the listener'
    })
    const next = defineAgent({ name: 'Next' }, (message, turn) => {
      hear(message)
      scribble(message)
      scribble(turn.history)
      return 'done'
    })
    const team = teamOf({ scribbler, listener, next }, 'team', {
      type: 'workflow',
      steps: [
        { agentId: 'next' },
        { parallel: [{ agentId: 'scribbler' }, { agentId: 'listener' }] },
        { agentId: 'next' },
      ],
    })
    const server = await serve(team, await open())
    const task = await send(server, 'one')
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(heard).toHaveLength(3)
    expect(JSON.stringify([heard, task])).not.toContain('scribbled')
    expect(heard[2]).toContain('from the scribbler')
  })

  test('in a team: a member that asks, and its answer', async () => {
    const asks = defineAgent({ name: 'Asks' }, async function* (message, turn) {
      const asked = turn.task
      scribble(message)
      scribble(asked)
      scribble(turn.history)
      scribble(await turn.conversation(10))
      if (!asked) yield turn.ask('Which?')
      else yield 'thanks'
    })
    const server = await serve(teamOf({ asks }), await open())
    const { id } = await send(server, 'one')
    const task = await send(server, 'two', { taskId: id })
    expect(JSON.stringify(task)).not.toContain('scribbled')
    expect(task.history?.map(({ parts }) => textOf(parts))).toEqual(['one', 'Which?', 'two'])
  })
})
