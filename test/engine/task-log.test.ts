import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { weighRecords } from '../../src/store/size-limits.ts'
import { faulty } from '../fixtures/faulty-store.ts'
import { isChange } from '../fixtures/records.ts'
import { ask, createEngineFor, message, taskOf } from './scene.ts'

const limits = { maxTaskBytes: 20_000, maxTaskEvents: 10, maxContextBytes: 1_000 }

const artifact = { artifactId: 'a', parts: [{ text: 'x' }] }

function reasonOf({ status }: Task): string {
  return textOf(status.message?.parts ?? [])
}

describe('an agent that says more than the store takes at once waits for it', () => {
  test.each([
    ['after so many records', 700, 10],
    ['after so many bytes', 100, 8 * 1024],
  ])('%s', async (_, count, length) => {
    const talker = defineAgent({ name: 'Talker' }, async function* () {
      for (let i = 0; i < count; i++) yield 'x'.repeat(length)
    })
    // While a commit is under way, an agent that did not wait would say everything.
    const delay = async (): Promise<void> => {
      for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
    }
    const store = faulty(createMemoryStore(), { delay })
    const { engine } = createEngineFor(talker, { store })
    const task = taskOf(await ask(engine, 'go'))
    expect(textOf(task.artifacts?.[0]?.parts ?? [])).toHaveLength(count * length)
    const writes = store.seen.flat().filter((write) => write.type === 'task')
    expect(Math.max(...writes.map(({ records }) => records.length))).toBeLessThan(256 + 10)
    expect(Math.max(...writes.map(({ bytes = 0 }) => bytes))).toBeLessThan(256 * 1024 + 10_000)
    expect(writes.length).toBeGreaterThan(2)
  })
})

describe('a task that grows too large', () => {
  test('fails at its number of events, with the reason', async () => {
    const talker = defineAgent({ name: 'Talker' }, async function* (_message, turn) {
      yield turn.artifact(artifact)
      for (;;) yield turn.artifact(artifact, { append: true })
    })
    const { engine, store } = createEngineFor(talker, { limits })
    const task = taskOf(await ask(engine, 'go'))
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(reasonOf(task)).toBe('The task has grown beyond 10 events; it is given up')
    const records = await store.records(task.id, 0)
    expect(records.filter(({ kind }) => kind === 'event')).toHaveLength(11)
    expect(engine.live()).toBe(0)
  })

  test('may end with as many events as it may have', async () => {
    const worker = defineAgent({ name: 'Worker' }, async function* (_message, turn) {
      yield turn.artifact(artifact)
      for (let i = 0; i < 8; i++) yield turn.artifact(artifact, { append: true })
    })
    const { engine } = createEngineFor(worker, { limits })
    expect(taskOf(await ask(engine, 'go')).status.state).toBe('TASK_STATE_COMPLETED')
  })

  const swallowed: [string, (turn: Parameters<Parameters<typeof defineAgent>[1]>[1]) => unknown][] =
    [
      ['steps', (turn) => turn.step(crypto.randomUUID(), () => 'x'.repeat(1_000))],
      ['values', (turn) => turn.save(crypto.randomUUID(), 'x'.repeat(1_000))],
      ['traces', (turn) => turn.trace({ text: 'x'.repeat(1_000) })],
    ]
  test.each(swallowed)(
    'by %s ends though its agent does not listen: its signal fires',
    async (_what, write) => {
      let aborted: unknown
      const stubborn = defineAgent({ name: 'Stubborn' }, async (_message, turn) => {
        turn.signal.addEventListener('abort', () => (aborted = turn.signal.reason))
        for (let i = 0; i < 1_000; i++)
          try {
            await write(turn)
          } catch {
            // as an agent that goes on whatever happens
          }
        return 'done'
      })
      const { engine, store } = createEngineFor(stubborn, { limits })
      const task = taskOf(await ask(engine, 'go'))
      expect(reasonOf(task)).toBe('The task has grown beyond 20000 bytes; it is given up')
      expect(String(aborted)).toContain('beyond 20000 bytes')
      expect(JSON.stringify(await store.records(task.id, 0)).length).toBeLessThan(25_000)
    },
  )

  test.each(['x'.repeat(30_000), { task: bigTask() }])(
    'by an answer of one piece fails, too',
    async (reply) => {
      const big = defineAgent({ name: 'Big' }, async function* () {
        yield reply
      })
      const { engine } = createEngineFor(big, { limits })
      const task = taskOf(await ask(engine, 'go'))
      expect(task.status.state).toBe('TASK_STATE_FAILED')
      expect(reasonOf(task)).toContain('beyond 20000 bytes')
    },
  )

  test('by messages of its caller fails, and its failure is the answer', async () => {
    const asking = defineAgent({ name: 'Asking' }, async function* (_message, turn) {
      yield turn.ask('more?')
    })
    const { engine } = createEngineFor(asking, { limits })
    const { id: taskId } = taskOf(await ask(engine, 'go'))
    const next = taskOf(await ask(engine, 'x'.repeat(10_000), { taskId }))
    expect(next.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const last = taskOf(await ask(engine, 'x'.repeat(10_000), { taskId }))
    expect(last.status.state).toBe('TASK_STATE_FAILED')
    expect(last.history?.filter(({ role }) => role === 'ROLE_USER')).toHaveLength(2)
    await expect(ask(engine, 'more', { taskId })).rejects.toMatchObject({ code: 'taskFailed' })
  })
})

describe('the values of a context', () => {
  const keeper = defineAgent({ name: 'Keeper' }, async function* (message, turn) {
    const [key = '', size = '0', look] = textOf(message.parts).split(' ')
    if (look) await turn.context.get(key)
    turn.context.set(key, 'x'.repeat(Number(size)))
    await turn.step('wait', () => 1)
    yield 'kept'
  })

  test.each(['', ' look'])('have an end, and the step at it fails (%s)', async (look) => {
    const { engine, store, scope } = createEngineFor(keeper, { limits })
    const contextId = 'c'
    const say = async (text: string): Promise<Task> =>
      taskOf(await ask(engine, text + look, { contextId }))
    expect((await say('a 500')).status.state).toBe('TASK_STATE_COMPLETED')
    expect((await say('b 400')).status.state).toBe('TASK_STATE_COMPLETED')
    expect(reasonOf(await say('c 400'))).toContain('more than 1000 bytes')
    // What replaces a value takes its place.
    expect((await say('a 550')).status.state).toBe('TASK_STATE_COMPLETED')
    const values = await store.contextValues(scope, contextId)
    expect([...values].map(([key, value]) => [key, String(value).length])).toEqual([
      ['a', 550],
      ['b', 400],
    ])
  })

  test('of one step alone have the same end', async () => {
    const { engine } = createEngineFor(keeper, { limits })
    expect(reasonOf(taskOf(await ask(engine, 'a 1001')))).toContain('more than 1000 bytes')
  })
})

test('a chunk of an artifact that was taken away from outside fails the task alone', async () => {
  const go = createDeferred<void>()
  const agent = defineAgent({ name: 'Writer' }, async function* (_message, turn) {
    yield turn.artifact(artifact)
    yield turn.artifact({ ...artifact, artifactId: 'b' })
    await go.promise
    yield turn.artifact(artifact, { append: true })
  })
  const { engine, scope } = createEngineFor(agent)
  const sent = await engine.send(message('go'), {})
  const { id } = await sent.task()
  await expect.poll(async () => (await engine.get(id, scope)).artifacts).toHaveLength(2)
  const { artifacts: _, ...task } = await engine.get(id, scope)
  await engine.tasksOf(scope).update({ ...task, artifacts: [] })
  go.resolve()
  const answer = taskOf(await sent.answer.wait())
  expect(answer.status.state).toBe('TASK_STATE_FAILED')
  expect(reasonOf(answer)).toBe('Chunk of unknown artifact a')
})

function bigTask(): Task {
  return {
    id: 'any',
    contextId: 'any',
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ artifactId: 'a', parts: [{ text: 'x'.repeat(30_000) }] }],
  }
}

describe('the bounds of a task', () => {
  const ample = { maxTaskBytes: 100_000, maxTaskEvents: 100, maxContextBytes: 1_000 }

  /** Says as many words as each message asks for, and then asks what next. */
  const talker = defineAgent({ name: 'Talker' }, async function* (heard, turn) {
    const count = Number(textOf(heard.parts))
    yield turn.artifact(artifact)
    for (let i = 1; i < count; i++) yield turn.artifact(artifact, { append: true })
    yield turn.ask('How many more?')
  })

  /** Where a task is after turns of so many words, and how large it is then. */
  async function talk(turns: readonly number[], more: Partial<typeof ample> = {}) {
    const { engine, store } = createEngineFor(talker, { limits: { ...ample, ...more } })
    let task: Task | undefined
    for (const count of turns) {
      task = taskOf(await ask(engine, `${count}`, task ? { taskId: task.id } : {}))
      await expect.poll(() => engine.live()).toBe(0)
    }
    const records = await store.records(task?.id ?? '', 0)
    return { state: task?.status.state, bytes: weighRecords(records), records }
  }

  test('hold over all its turns, to the byte', async () => {
    const { bytes, state } = await talk([3, 3])
    expect(state).toBe('TASK_STATE_INPUT_REQUIRED')
    // The last record says that the turn is over, and is of no size that counts.
    const last = async (maxTaskBytes: number) => (await talk([3, 3], { maxTaskBytes })).state
    expect(await last(bytes)).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(await last(bytes - 1)).toBe('TASK_STATE_FAILED')
  })

  test('hold over all its turns, to the event', async () => {
    const { records } = await talk([3, 3])
    const events = records.filter(({ kind }) => kind === 'event').length
    const last = async (maxTaskEvents: number) => (await talk([3, 3], { maxTaskEvents })).state
    expect(await last(events)).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(await last(events - 1)).toBe('TASK_STATE_FAILED')
  })
})

test('the words of an artifact are one in the end, and its records stay', async () => {
  const words = defineAgent({ name: 'Words' }, async function* () {
    yield* ['one ', 'two ', 'three']
  })
  const { engine, store } = createEngineFor(words)
  const { id } = taskOf(await ask(engine, 'go'))
  const stored = await store.get(id)
  expect(stored?.taskVersion).toBe(stored?.version)
  expect(stored?.task.artifacts?.map(({ parts }) => parts)).toEqual([[{ text: 'one two three' }]])
  expect((await store.records(id, 0)).filter(isChange).length).toBeGreaterThanOrEqual(4)
})
