import { expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'
import type { Feed, InboxItem } from '../../src/store/feed.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { ask, createEngineFor, taskOf } from './scene.ts'

/** The part of a feed that a lone replica needs, with an inbox that a test fills. */
function createInbox(inbox: InboxItem[]): Feed {
  const feed: Partial<Feed> = {
    replica: 1,
    replicas: 1,
    offsetMs: 0,
    mayBegin: () => true,
    settled: async () => {},
    inbox: async () => inbox,
    watch() {},
    unwatch() {},
  }
  return feed as Feed // nothing else of it is asked for here
}

test('a task that another replica has changed is live no longer than it takes to store that', async () => {
  const inbox: InboxItem[] = []
  const store = { ...createMemoryStore(), feed: createInbox(inbox) }
  const agent = defineAgent({ name: 'Asking' }, async function* (_message, turn) {
    yield turn.ask('Which one?')
  })
  const { engine, scope } = createEngineFor(agent, { store })
  const { id, contextId } = taskOf(await ask(engine, 'go'))
  await expect.poll(() => engine.live()).toBe(0)
  const artifact = { artifactId: 'note', parts: [{ text: 'by the way' }] }
  const event: StreamResponse = { artifactUpdate: { taskId: id, contextId, artifact } }
  inbox.push({ number: 1, entry: { kind: 'amend', key: 'k', events: [event] } })
  engine.receive(id)
  const noted = async () => (await store.get(id))?.task.artifacts
  await expect.poll(noted).toEqual([artifact])
  // One that stayed would answer for ever with what it knows, whatever others do to the task.
  await expect.poll(() => engine.live()).toBe(0)
  expect((await engine.get(id, scope)).artifacts).toEqual([artifact])
})
