import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { isTerminal, textOf } from '../../src/protocol/task.ts'
import { createDeferred } from '../../src/shared/async.ts'
import type { Feed } from '../../src/store/feed.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import { ask, createEngineFor, eventsOf, message, taskOf } from './scene.ts'

/** Asks on, until it is told that this is all. */
const asking = defineAgent({ name: 'Asking', resumable: true }, async function* (heard, turn) {
  const text = textOf(heard.parts)
  if (text === 'all') yield turn.status('TASK_STATE_COMPLETED', 'Thank you')
  else yield turn.ask(`What after ${text}?`)
})

describe('a message for a task that another process goes on with', () => {
  test('while the task is read streams the task as it was, and its own turn', async () => {
    const kept = createMemoryStore()
    const other = createEngineFor(asking, { store: kept }).engine
    const task = taskOf(await ask(other, 'one'))
    const { id: taskId } = task
    let isFirst = true
    const store: Store = {
      ...kept,
      async get(id, scope) {
        const stored = await kept.get(id, scope)
        if (isFirst) {
          isFirst = false
          await ask(other, 'two', { taskId })
        }
        return stored
      },
    }
    const sent = await createEngineFor(asking, { store }).engine.send(
      message('three', { taskId }),
      {},
    )
    const [first, ...rest] = await eventsOf(sent.events())
    expect(first).toEqual({ task })
    expect(rest.at(-1)).toMatchObject({
      statusUpdate: { status: { message: { parts: [{ text: 'What after three?' }] } } },
    })
  })

  test('which ends without it is told so in its stream, as it is in its answer', async () => {
    const kept = createMemoryStore()
    const other = createEngineFor(asking, { store: kept })
    const { id: taskId } = taskOf(await ask(other.engine, 'one'))
    const slow = createDeferred<void>()
    let readings = 0
    const store: Store = {
      ...kept,
      feed: elsewhere(),
      get: async (id, scope) => {
        const stored = await kept.get(id, scope)
        return stored && !isTerminal(stored.head.state) ? { ...stored, replica: 2 } : stored
      },
      async records(...args) {
        // Who waits for the answer reads later than who watches.
        if (readings++ === 0) await slow.promise
        return kept.records(...args)
      },
    }
    const here = createEngineFor(asking, { store })
    const sent = await here.engine.send(message('mine', { taskId }), {})
    const watched = eventsOf(sent.events())
    await ask(other.engine, 'all', { taskId })
    const { version = 0 } = (await kept.get(taskId)) ?? {}
    here.hub.grown(taskId, version)
    const refusal = { code: 'unsupportedOperation' }
    await expect(watched).rejects.toMatchObject(refusal)
    slow.resolve()
    await expect(sent.answer.wait()).rejects.toMatchObject(refusal)
  })

  test('which is cancelled before it is stored is told so in its stream', async () => {
    const kept = createMemoryStore()
    const other = createEngineFor(asking, { store: kept })
    const { id: taskId } = taskOf(await ask(other.engine, 'one'))
    const seen = createDeferred<void>()
    const store: Store = {
      ...kept,
      feed: elsewhere(),
      async commit(writes) {
        await other.engine.cancel(taskId, other.scope)
        here.hub.grown(taskId, (await kept.get(taskId))?.version ?? 0)
        // Its own refusal comes last of all.
        await seen.promise
        return kept.commit(writes)
      },
    }
    const here = createEngineFor(asking, { store })
    const sent = await here.engine.send(message('mine', { taskId }), {})
    const watched = eventsOf(sent.events())
    await expect(watched).rejects.toMatchObject({ code: 'taskCanceled' })
    seen.resolve()
    await expect(sent.answer.wait()).rejects.toMatchObject({ code: 'taskCanceled' })
  })
})

/** What one of two replicas needs of a feed, where the other has every task and never looks into an inbox. */
function elsewhere(): Feed {
  const feed: Partial<Feed> = {
    replica: 1,
    replicas: 2,
    offsetMs: 0,
    mayBegin: () => true,
    forward: async () => 'stored',
    watch() {},
    unwatch() {},
  }
  return feed as Feed // nothing else of it is asked for here
}
