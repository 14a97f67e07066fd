import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTurnQueue, type Ticket } from '../../src/engine/queue.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { ask, begin, createEngineFor, message, taskOf } from './scene.ts'

/** Enters turns by their names: the principal, the context, a number. */
function createLine(slots: number, maxWaiting?: number) {
  const queue = createTurnQueue({ slots, ...(maxWaiting !== undefined && { maxWaiting }) })
  const started: string[] = []
  const tickets = new Map<string, Ticket>()
  return {
    queue,
    started,
    enter(name: string): void {
      const [principal = '', contextId = ''] = name.split('/')
      const start = (): void => void started.push(name)
      tickets.set(name, queue.enter({ principal, contextId, start }))
    },
    leave: (name: string): void => tickets.get(name)?.leave(),
  }
}

describe('the queue of turns', () => {
  test('starts as many as there are slots, and the next when one is given back', () => {
    const { queue, started, enter, leave } = createLine(2)
    for (const name of ['a/x/1', 'a/x/2', 'a/x/3']) enter(name)
    expect(started).toEqual(['a/x/1', 'a/x/2'])
    expect(queue.counts()).toEqual({ running: 2, waiting: 1 })
    leave('a/x/1')
    leave('a/x/1')
    expect(started).toEqual(['a/x/1', 'a/x/2', 'a/x/3'])
    expect(queue.counts()).toEqual({ running: 2, waiting: 0 })
  })

  test('goes round the principals: a flood of one keeps nobody else waiting', () => {
    const { started, enter, leave } = createLine(1)
    enter('first/x/0')
    for (let i = 0; i < 100; i++) enter(`flood/x/${i}`)
    enter('calm/x/1')
    leave('first/x/0')
    leave('flood/x/0')
    expect(started).toEqual(['first/x/0', 'flood/x/0', 'calm/x/1'])
  })

  test('goes round the contexts of a principal', () => {
    const { started, enter, leave } = createLine(1)
    for (const name of ['p/a/0', 'p/a/1', 'p/a/2', 'p/b/1']) enter(name)
    leave('p/a/0')
    leave('p/a/1')
    expect(started).toEqual(['p/a/0', 'p/a/1', 'p/b/1'])
  })

  test('refuses when too many wait', () => {
    const { queue, enter } = createLine(1, 1)
    enter('a/x/1')
    queue.mustHaveRoom()
    enter('a/x/2')
    expect(() => queue.mustHaveRoom()).toThrow(expect.objectContaining({ code: 'unavailable' }))
  })

  test('starts every turn that stays once, in order within its context, and never too many', () => {
    const name = fc.tuple(fc.constantFrom('p', 'q', 'r'), fc.constantFrom('a', 'b'))
    const step = fc.oneof(fc.record({ enter: name }), fc.record({ leave: fc.nat(30) }))
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 60 }),
        (slots, steps) => {
          const { queue, started, enter, leave } = createLine(slots)
          const entered: string[] = []
          const left = new Set<string>()
          for (const one of steps) {
            if ('enter' in one) {
              entered.push(`${one.enter[0]}/${one.enter[1]}/${entered.length}`)
              enter(entered.at(-1) ?? '')
            } else {
              const gone = entered[one.leave % Math.max(1, entered.length)]
              if (gone !== undefined) left.add(gone)
              if (gone !== undefined) leave(gone)
            }
            expect(queue.counts().running).toBeLessThanOrEqual(slots)
          }
          for (let next = 0; next < started.length; next++) leave(started[next] ?? '')
          expect(new Set(started).size).toBe(started.length)
          for (const one of entered) if (!left.has(one)) expect(started).toContain(one)
          expect(queue.counts()).toEqual({ running: 0, waiting: 0 })
        },
      ),
    )
  })
})

describe('turns in the queue', () => {
  test('are SUBMITTED until they run, and WORKING then', async () => {
    const agent = createScriptedAgent()
    const { engine, scope } = createEngineFor(agent, { slots: 1 })
    await begin(engine, 'hold')
    const waiting = await engine.send(message('second'), {})
    expect((await waiting.task()).status.state).toBe('TASK_STATE_SUBMITTED')
    agent.release()
    const { id, status } = taskOf(await waiting.outcome.wait())
    expect(status.state).toBe('TASK_STATE_COMPLETED')
    expect((await engine.get(id, scope)).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('a task that asked is SUBMITTED again while its answer waits for a slot', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent, { slots: 1 })
    const { id: taskId } = taskOf(await ask(engine, 'ask'))
    await begin(engine, 'hold')
    const answer = await engine.send(message('red', { taskId }), {})
    expect((await answer.task()).status.state).toBe('TASK_STATE_SUBMITTED')
    agent.release()
    expect(taskOf(await answer.outcome.wait()).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('of a principal with many do not hold up another’s one', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent, { slots: 1 })
    const by = (userId: string) => ({ call: { auth: { userId } } })
    await begin(engine, 'hold', by('ann'))
    for (let i = 0; i < 5; i++) await begin(engine, `ann ${i}`, by('ann'))
    const bob = await engine.send(message('bob'), by('bob').call)
    await bob.task()
    agent.release()
    await bob.outcome.wait()
    expect(agent.heard.indexOf('bob')).toBeLessThanOrEqual(2)
  })
})
