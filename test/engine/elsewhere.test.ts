import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { isTerminal, textOf } from '../../src/protocol/task.ts'
import { createDeferred } from '../../src/shared/async.ts'
import type { Feed } from '../../src/store/feed.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store, StoredTask } from '../../src/store/store.ts'
import { ask, begin, createEngineFor, eventsOf, message, taskOf } from './scene.ts'

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
    const store = interrupted(kept, () => ask(other, 'two', { taskId }))
    const { engine } = createEngineFor(asking, { store })
    const sent = await engine.send(message('three', { taskId }), {})
    const [first, ...rest] = await eventsOf(sent.events())
    expect(first).toEqual({ task })
    expect(rest.at(-1)).toMatchObject(asked('three'))
  })

  test('streams its turn also to who looks when that is over', async () => {
    const kept = createMemoryStore()
    const other = createEngineFor(asking, { store: kept }).engine
    const { id: taskId } = taskOf(await ask(other, 'one'))
    const store = interrupted(kept, () => ask(other, 'two', { taskId }))
    const { engine } = createEngineFor(asking, { store })
    const sent = await engine.send(message('three', { taskId }), {})
    const turns = async () => (await kept.records(taskId, 0)).filter(({ kind }) => kind === 'start')
    await expect.poll(turns).toHaveLength(3)
    await expect.poll(() => engine.live()).toBe(0)
    expect((await eventsOf(sent.events())).at(-1)).toMatchObject(asked('three'))
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
      get: async (id, scope) => withReplica(await kept.get(id, scope)),
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

test('a message that waits elsewhere for a turn that ends the task is told so', async () => {
  const kept = createMemoryStore()
  const go = createDeferred<string>()
  const other = createEngineFor(
    defineAgent({ name: 'Slow' }, () => go.promise),
    { store: kept },
  )
  const { id: taskId } = await begin(other.engine, 'one')
  const forward: Feed['forward'] = async (_taskId, entry) => {
    if (entry.kind !== 'message') throw new Error('Not a message')
    await (await other.engine.send({ message: entry.message }, {})).task()
    return 'stored'
  }
  const store: Store = {
    ...kept,
    feed: { ...elsewhere(), forward },
    get: async (id, scope) => withReplica(await kept.get(id, scope)),
  }
  const here = createEngineFor(asking, { store })
  const streamed = await here.engine.send(message('two', { taskId }), {})
  const awaited = await here.engine.send(message('three', { taskId }), {})
  const outcomes = Promise.allSettled([eventsOf(streamed.events()), awaited.answer.wait()])
  go.resolve('done')
  await expect.poll(async () => (await kept.get(taskId))?.head.state).toBe('TASK_STATE_COMPLETED')
  here.hub.grown(taskId, (await kept.get(taskId))?.version ?? 0)
  const refusal = { status: 'rejected', reason: { code: 'unsupportedOperation' } }
  expect(await outcomes).toMatchObject([refusal, refusal])
})

test('a task that goes on elsewhere while it is read is watched without a repetition', async () => {
  const [second, third] = [createDeferred<void>(), createDeferred<void>()]
  const counting = defineAgent({ name: 'Counting' }, async function* () {
    yield 'one '
    await second.promise
    yield 'two '
    await third.promise
    yield 'three '
  })
  const kept = createMemoryStore()
  const other = createEngineFor(counting, { store: kept })
  const { id } = await begin(other.engine, 'go')
  second.resolve()
  const stored = async () => kept.get(id)
  // From then on the snapshot is older than the log.
  await expect
    .poll(async () => (await stored())?.taskVersion !== (await stored())?.version)
    .toBe(true)
  const store = interrupted(kept, async () => {
    third.resolve()
    await expect.poll(async () => (await stored())?.head.state).toBe('TASK_STATE_COMPLETED')
  })
  const here = createEngineFor(counting, { store })
  const events = await eventsOf(await here.engine.subscribe(id, here.scope, {}))
  const words = events.map((event) => {
    if ('task' in event) return textOf((event.task.artifacts ?? []).flatMap(({ parts }) => parts))
    return 'artifactUpdate' in event ? textOf(event.artifactUpdate.artifact.parts) : ''
  })
  expect(words.join('')).toBe('one two three ')
})

/** A task that another replica runs for as long as it goes on. */
function withReplica(stored: StoredTask | undefined): StoredTask | undefined {
  return stored && !isTerminal(stored.head.state) ? { ...stored, replica: 2 } : stored
}

/** A store to which something happens when a task was read for the first time, before the rest of it is. */
function interrupted(kept: Store, happen: () => Promise<unknown>): Store {
  let isFirst = true
  return {
    ...kept,
    async get(id, scope) {
      const stored = await kept.get(id, scope)
      if (isFirst) {
        isFirst = false
        await happen()
      }
      return stored
    },
  }
}

/** The event that ends a turn of the agent above. */
function asked(text: string): object {
  const parts = [{ text: `What after ${text}?` }]
  return { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { parts } } } }
}

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
