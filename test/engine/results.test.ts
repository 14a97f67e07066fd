import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import type { Sequenced } from '../../src/protocol/operations.ts'
import { createFold } from '../../src/protocol/task.ts'
import type { Task } from '../../src/protocol/types.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/store.ts'
import { createEngineFor, message, textOf } from './scene.ts'

/** A store whose every answer comes when the scheduler says so. */
function slowed(inner: Store, scheduler: fc.Scheduler): Store {
  const later = <A extends unknown[], R>(name: string, work: (...args: A) => Promise<R>) =>
    scheduler.scheduleFunction(Object.defineProperty(work, 'name', { value: name }), (f) => f())
  return {
    ...inner,
    commit: later('commit', (writes: Parameters<Store['commit']>[0]) => inner.commit(writes)),
    get: later('get', (...args: Parameters<Store['get']>) => inner.get(...args)),
    records: later('records', (...args: Parameters<Store['records']>) => inner.records(...args)),
  }
}

const chunks = Array.from({ length: 12 }, (_, i) => `${i} `)

const whole = chunks.join('')

/** What a reader puts together from a stream: the task in the end, and the numbers it saw. */
async function read(
  stream: AsyncIterable<readonly Sequenced[]>,
): Promise<{ task: Task; seqs: number[] }> {
  let fold: ReturnType<typeof createFold> | undefined
  const seqs: number[] = []
  for await (const batch of stream)
    for (const { seq, event } of batch) {
      if (seq !== undefined) seqs.push(seq)
      if ('task' in event && !fold) fold = createFold(event.task)
      else fold?.apply(event)
    }
  if (!fold) throw new Error('There was no task')
  return { task: fold.snapshot(), seqs }
}

describe('watchers, whatever the order in which things happen', () => {
  test('begin with a snapshot and lose no event after it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.nat(11), async (scheduler, when) => {
        const talker = defineAgent({ name: 'talker' }, async function* () {
          for (const chunk of chunks) {
            await scheduler.schedule(Promise.resolve(), `chunk ${chunk}`)
            yield chunk
          }
        })
        const store = slowed(createMemoryStore(), scheduler)
        const { engine, scope } = createEngineFor(talker, { store })
        const sent = await engine.send(message('go'), {})
        const first = read(sent.events())
        const late = (async () => {
          const { id } = await sent.task()
          for (let i = 0; i < when; i++) await scheduler.schedule(Promise.resolve(), 'wait')
          const stream = await engine.subscribe(id, scope, {}).catch(() => undefined)
          return stream && read(stream)
        })()
        await scheduler.waitFor(Promise.all([first, late]))
        for (const seen of [await first, await late]) {
          if (!seen) continue
          expect(textOf(seen.task)).toBe(whole)
          expect(seen.task.status.state).toBe('TASK_STATE_COMPLETED')
          expect(seen.seqs).toEqual([...seen.seqs].sort((a, b) => a - b))
          expect(new Set(seen.seqs).size).toBe(seen.seqs.length)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('resumed anywhere, see what follows once and in order', async () => {
    const talker = defineAgent({ name: 'talker' }, async function* () {
      yield* chunks
    })
    const { engine, scope } = createEngineFor(talker)
    const sent = await engine.send(message('go'), {})
    const { seqs } = await read(sent.events())
    const { id } = await sent.task()
    for (const lastEventId of seqs) {
      const rest: (number | undefined)[] = []
      for await (const batch of await engine.subscribe(id, scope, { lastEventId }))
        for (const { seq } of batch) rest.push(seq)
      expect(rest).toEqual(seqs.filter((seq) => seq > lastEventId))
    }
  })

  test('resumed beyond the log, begin anew with a snapshot', async () => {
    const { engine, scope } = createEngineFor(defineAgent({ name: 'a' }, () => 'hi'))
    const sent = await engine.send(message('go'), {})
    await sent.answer.wait()
    const { id } = await sent.task()
    const stream = await engine.subscribe(id, scope, { lastEventId: 9999 })
    expect((await read(stream)).task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('who leave are forgotten at once', async () => {
    const { engine, scope, hub } = createEngineFor(
      defineAgent({ name: 'a' }, async function* (_message, turn) {
        yield turn.status('TASK_STATE_WORKING')
        await new Promise((_, reject) => turn.signal.addEventListener('abort', reject))
      }),
    )
    const sent = await engine.send(message('go'), {})
    const { id } = await sent.task()
    const streams = await Promise.all([1, 2, 3].map(() => engine.subscribe(id, scope, {})))
    expect(hub.count()).toBe(3)
    for (const stream of streams) {
      const iterator = stream[Symbol.asyncIterator]()
      await iterator.next()
      const waiting = iterator.next()
      await iterator.return?.()
      expect((await waiting).done).toBe(true)
    }
    expect(hub.count()).toBe(0)
    await engine.cancel(id, scope)
  })
})
