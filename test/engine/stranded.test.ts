import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store, WriteResult } from '../../src/store/store.ts'
import { createFakeClock } from '../../src/testing/index.ts'
import { begin, createEngineFor, type EngineScene } from './scene.ts'

/** A store that can be told to refuse, as on a full disk. */
function createFullStore(): Store & { full: boolean } {
  const store = createMemoryStore()
  const one = {
    ...store,
    full: false,
    commit: async (writes: Parameters<Store['commit']>[0]) => {
      if (one.full) throw new Error('the disk is full')
      return store.commit(writes)
    },
    health: () => ({ writable: !one.full }),
  }
  return one
}

const resumable = { name: 'worker', resumable: true }

async function stateOf({ engine, scope }: EngineScene, id: string): Promise<string> {
  return (await engine.get(id, scope)).status.state
}

describe('a task whose commit was refused', () => {
  test('goes on by itself once the store can be written, without its finished steps again', async () => {
    const store = createFullStore()
    const clock = createFakeClock()
    const ran: string[] = []
    const agent = defineAgent(resumable, async (_message, turn) => {
      await turn.step('first', () => ran.push('first'))
      await turn.step('second', () => {
        store.full = ran.push('second') === 2
        return 1
      })
      return `attempt ${turn.attempt}`
    })
    const scene = createEngineFor(agent, { store, clock })
    const { id } = await begin(scene.engine, 'go', { call: { idempotencyKey: 'k' } })
    await expect.poll(() => ran).toEqual(['first', 'second'])
    await expect.poll(() => clock.pending().length).toBeGreaterThan(0)
    clock.advance(10_000)
    expect(await stateOf(scene, id)).toBe('TASK_STATE_WORKING')
    store.full = false
    clock.advance(10_000)
    await expect.poll(() => stateOf(scene, id)).toBe('TASK_STATE_COMPLETED')
    expect(ran).toEqual(['first', 'second', 'second'])
    const { artifacts = [] } = await scene.engine.get(id, scene.scope)
    // A store that failed is no death of the process, and so no attempt.
    expect(textOf(artifacts.flatMap(({ parts }) => parts))).toBe('attempt 1')
  })

  test('fails with a reason where its agent cannot resume', async () => {
    const store = createFullStore()
    const clock = createFakeClock()
    const agent = defineAgent({ name: 'worker' }, async (_message, turn) => {
      await turn.step('first', () => 1)
      store.full = true
      await turn.step('second', () => 2)
      return 'done'
    })
    const scene = createEngineFor(agent, { store, clock })
    const { id } = await begin(scene.engine, 'go', { call: { idempotencyKey: 'k' } })
    await expect.poll(() => clock.pending().length).toBeGreaterThan(0)
    store.full = false
    clock.advance(10_000)
    await expect.poll(() => stateOf(scene, id)).toBe('TASK_STATE_FAILED')
    const { status } = await scene.engine.get(id, scene.scope)
    expect(textOf(status.message?.parts ?? [])).toBe(
      'The task store failed while this task was running, and its agent cannot resume',
    )
  })

  test('is continued by a message that comes before anybody looked', async () => {
    const store = createFullStore()
    let runs = 0
    const agent = defineAgent(resumable, async function* (_message, turn) {
      await turn.step('work', () => turn.number)
      store.full = ++runs === 1
      yield turn.number === 1 ? turn.ask('which?') : 'the end'
    })
    const scene = createEngineFor(agent, { store, clock: createFakeClock() })
    const { id: taskId } = await begin(scene.engine, 'go', { call: { idempotencyKey: 'k' } })
    await expect.poll(() => store.full).toBe(true)
    await expect.poll(() => scene.engine.live()).toBe(0)
    store.full = false
    await begin(scene.engine, 'red', { taskId })
    await expect.poll(() => stateOf(scene, taskId)).toBe('TASK_STATE_COMPLETED')
  })
})

test('a task that cannot be stored fails alone, and those of the same commit stand', async () => {
  const inner = createMemoryStore()
  const store: Store = {
    ...inner,
    async commit(writes) {
      const kept = writes.filter((write) => !JSON.stringify(write).includes('unstorable'))
      const results = [...(await inner.commit(kept))]
      return writes.map(
        (write): WriteResult =>
          kept.includes(write) ? (results.shift() ?? { conflict: 0 }) : { refused: 'too large' },
      )
    },
  }
  const clock = createFakeClock()
  const agent = defineAgent(resumable, async (message, turn) => {
    await turn.step('begin', () => 1)
    return textOf(message.parts) === 'bad' ? 'unstorable' : 'fine'
  })
  const scene = createEngineFor(agent, { store, clock })
  const texts = ['good', 'bad', 'good']
  const call = (index: number) => ({ call: { idempotencyKey: `k-${index}` } })
  const tasks = await Promise.all(texts.map((text, i) => begin(scene.engine, text, call(i))))
  const states = () => Promise.all(tasks.map(({ id }) => stateOf(scene, id)))
  await expect.poll(() => clock.pending().length).toBeGreaterThan(0)
  clock.advance(10_000)
  await expect
    .poll(states)
    .toEqual(['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_COMPLETED'])
  const { status } = await scene.engine.get(tasks[1]?.id ?? '', scene.scope)
  expect(textOf(status.message?.parts ?? [])).toBe('The task cannot be stored: too large')
})
