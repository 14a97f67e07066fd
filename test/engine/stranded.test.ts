import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { A2AError } from '../../src/protocol/errors.ts'
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

describe('tasks whose commit was refused', () => {
  /** Stranded tasks of an engine that does nothing else, and what is tried. */
  function createScene() {
    const clock = createFakeClock()
    const tried: string[] = []
    let answer: 'resumed' | 'nothing' | 'unreadable' = 'resumed'
    let writable = true
    const { engine } = createEngineFor(
      defineAgent({ name: 'a' }, () => ''),
      {
        store: { ...createMemoryStore(), health: () => ({ writable }) },
        clock,
      },
    )
    const { stranded } = engine
    engine.tasks.resume = async (id) => {
      tried.push(id)
      if (answer === 'unreadable') throw new Error('It cannot be read')
      if (answer === 'resumed') stranded.leave(id)
      return answer
    }
    /** Lets time pass, and what begins then come to its end. */
    const pass = async (ms: number): Promise<readonly string[]> => {
      clock.advance(ms)
      await new Promise((resolve) => setImmediate(resolve))
      return tried.splice(0)
    }
    return {
      ...{ clock, stranded, pass },
      set: (next: typeof answer, isWritable = true) => {
        answer = next
        writable = isWritable
      },
    }
  }

  test('are looked at together, and no more once they go on or nothing is left of them', async () => {
    for (const outcome of ['resumed', 'nothing'] as const) {
      const { clock, stranded, pass, set } = createScene()
      set(outcome)
      stranded.add('a', undefined)
      stranded.add('b', undefined)
      expect(clock.pending()).toEqual([250])
      expect(await pass(249)).toEqual([])
      expect(await pass(1)).toEqual(['a', 'b'])
      expect(clock.pending()).toEqual([])
    }
  })

  test('are looked at every two seconds while the store cannot be read or written', async () => {
    const { stranded, pass, set } = createScene()
    stranded.add('a', undefined)
    stranded.add('b', undefined)
    set('resumed', false)
    expect(await pass(250)).toEqual([])
    set('unreadable')
    expect(await pass(1_999)).toEqual([])
    expect(await pass(1)).toEqual(['a', 'b'])
    set('resumed')
    expect(await pass(2_000)).toEqual(['a', 'b'])
    expect(await pass(60_000)).toEqual([])
  })

  test('again and again are looked at less and less often, and soon again after a while', async () => {
    const { clock, stranded, pass } = createScene()
    const waits: number[] = []
    for (let i = 0; i < 10; i++) {
      stranded.add('a', undefined)
      const [ms = 0] = clock.pending()
      waits.push(ms)
      await pass(ms)
    }
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    await pass(59_999)
    stranded.add('a', undefined)
    expect(clock.pending()).toEqual([60_000])
    await pass(60_000)
    await pass(60_000)
    stranded.add('a', undefined)
    expect(clock.pending()).toEqual([250])
  })

  test('are left by the store, others by a process that died', () => {
    const { stranded } = createScene()
    const error = new A2AError('invalidAgentResponse', 'Too deep')
    stranded.add('a', error)
    stranded.add('b', undefined)
    expect(stranded.leave('a')).toEqual({ died: false, refusal: error })
    expect(stranded.leave('a')).toEqual({ died: true, refusal: undefined })
    expect(stranded.leave('b')).toEqual({ died: false, refusal: undefined })
  })

  test('are looked at no more once the process stops', async () => {
    const { clock, stranded, pass } = createScene()
    stranded.add('a', undefined)
    stranded.close()
    expect(clock.pending()).toEqual([])
    stranded.add('b', undefined)
    expect([clock.pending(), await pass(60_000)]).toEqual([[], []])
  })
})
