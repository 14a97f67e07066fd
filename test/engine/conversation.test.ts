import { expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AClient } from '../../src/client/client.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createServer } from '../../src/server/server.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store, TaskListFilter } from '../../src/store/store.ts'
import { ask, createEngineFor, taskOf } from './scene.ts'

/** Answers with what it was told before, at most so many messages. */
async function hear(
  limit: number,
  store: Store = createMemoryStore(),
): Promise<(text: string, key: string) => Promise<string>> {
  const listener = defineAgent({ name: 'Listener' }, async (_message, turn) => {
    const heard = await turn.conversation(limit)
    return `[${heard.map(({ parts }) => textOf(parts)).join(' ')}]`
  })
  const server = await createServer({ agents: [listener], store, logger: false })
  onTestFinished(() => server.close())
  const client = new A2AClient({ dispatch: server.dispatch() })
  return (text, idempotencyKey) => client.run(text, { contextId: 'c', idempotencyKey })
}

// With a key the task is there before its agent is asked, without one it is not.
test.each(['key', ''])(
  'a conversation is what was said before the message (key "%s")',
  async (key) => {
    const say = await hear(10)
    expect(await say('one', key && `${key}1`)).toBe('[]')
    expect(await say('two', key && `${key}2`)).toBe('[one []]')
  },
)

test('the newest messages are as many as were asked for', async () => {
  const say = await hear(1)
  await say('one', 'first')
  expect(await say('two', 'second')).toBe('[[]]')
  const nobody = await hear(0)
  await nobody('one', 'first')
  expect(await nobody('two', 'second')).toBe('[]')
})

test('a turn reads no more tasks of its context than it has messages to give, and counts none', async () => {
  const memory = createMemoryStore()
  const asked: TaskListFilter[] = []
  const list: Store['list'] = (filter) => {
    asked.push(filter)
    return memory.list(filter)
  }
  const say = await hear(3, { ...memory, list })
  await say('one', 'first')
  expect(asked).toMatchObject([{ contextId: 'c', limit: 4, counted: false }])
})

test('a turn that wants any number of messages reads the last fifty tasks', async () => {
  const memory = createMemoryStore()
  const asked: TaskListFilter[] = []
  const list: Store['list'] = (filter) => {
    asked.push(filter)
    return memory.list(filter)
  }
  const say = await hear(1_000, { ...memory, list })
  await say('one', 'first')
  expect(asked).toMatchObject([{ contextId: 'c', limit: 50 }])
})

test('what was said earlier in the same task is part of the conversation', async () => {
  let heard: readonly string[] = []
  const agent = defineAgent({ name: 'Asking' }, async function* (_message, turn) {
    heard = (await turn.conversation(10)).map(({ parts }) => textOf(parts))
    yield turn.ask('Which one?')
  })
  const { engine } = createEngineFor(agent)
  const { id: taskId } = taskOf(await ask(engine, 'go'))
  await ask(engine, 'the red one', { taskId })
  expect(heard).toEqual(['go', 'Which one?'])
})
