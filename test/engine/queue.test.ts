import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Ticket, TurnQueue } from '../../src/engine/turn-queue.ts'
import { createScriptedAgent } from '../conformance/agent.ts'
import { ask, begin, createEngineFor, message, taskOf } from './scene.ts'

/** Enters turns by their names: the principal, the context, a number. */
function createLine(slots?: number, maxWaiting?: number, maxWaitingEach?: number) {
  const queue = new TurnQueue({
    ...(slots !== undefined && { slots }),
    ...(maxWaiting !== undefined && { maxWaiting }),
    ...(maxWaitingEach !== undefined && { maxWaitingEach }),
  })
  const started: string[] = []
  const tickets = new Map<string, Ticket>()
  function turnOf(name: string): Parameters<TurnQueue['enter']>[0] {
    const [principal = '', contextId = ''] = name.split('/')
    return {
      principal,
      contextId,
      start(ticket) {
        tickets.set(name, ticket)
        started.push(name)
      },
    }
  }
  return {
    queue,
    started,
    enter: (name: string): void => void tickets.set(name, queue.enter(turnOf(name))),
    readmit: (name: string): void => void tickets.set(name, queue.readmit(turnOf(name))),
    leave: (name: string): void => tickets.get(name)?.leave(),
    away: (name: string): void => tickets.get(name)?.away(),
    /** Tells `started` when the turn is back. */
    back: async (name: string): Promise<void> => {
      await tickets.get(name)?.back()
      started.push(`${name} back`)
    },
  }
}

describe('the queue of turns', () => {
  test('starts as many as there are slots, and the next when one is given back', () => {
    const { queue, started, enter, leave } = createLine(2)
    for (const name of ['/x/1', '/x/2', '/x/3']) enter(name)
    expect(started).toEqual(['/x/1', '/x/2'])
    expect(queue.counts()).toEqual({ running: 2, waiting: 1, away: 0 })
    leave('/x/1')
    leave('/x/1')
    expect(started).toEqual(['/x/1', '/x/2', '/x/3'])
    expect(queue.counts()).toEqual({ running: 2, waiting: 0, away: 0 })
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
    queue.mustHaveRoom('a')
    enter('a/x/2')
    expect(() => queue.mustHaveRoom('b')).toThrow(expect.objectContaining({ code: 'unavailable' }))
  })

  test('refuses one principal of whom too many wait, and nobody else', () => {
    const { queue, enter, readmit, leave } = createLine(2, 10, 2)
    for (const name of ['a/x/1', 'a/x/2', 'a/y/3', 'b/x/1']) enter(name)
    // What was taken in earlier counts in no limit.
    readmit('b/x/2')
    readmit('b/x/3')
    readmit('b/x/4')
    expect(() => queue.mustHaveRoom('a')).toThrow(
      expect.objectContaining({
        code: 'rateLimited',
        details: expect.objectContaining({ retryAfterSeconds: 1 }),
      }),
    )
    for (const principal of ['b', 'c', '']) queue.mustHaveRoom(principal)
    leave('a/x/1')
    queue.mustHaveRoom('a')
  })

  test('holds messages up to so many bytes, one principal a quarter of them', () => {
    const queue = new TurnQueue({ maxBytes: 400 })
    const refusal = expect.objectContaining({
      code: 'unavailable',
      details: expect.objectContaining({ retryAfterSeconds: 1 }),
    })
    const of = (principal: string, bytes: number) => ({ principal, bytes })
    queue.mustHold(of('a', 100), false)
    queue.hold(of('a', 100))
    expect(() => queue.mustHold(of('a', 1), false)).toThrow(refusal)
    queue.mustHold(of('a', 1), true)
    queue.mustHold(of('b', 100), false)
    // Nobody in particular has no share, but what there is has an end.
    queue.hold(of('', 250))
    queue.mustHold(of('b', 50), false)
    for (const isAnswer of [false, true])
      expect(() => queue.mustHold(of('b', 51), isAnswer)).toThrow(refusal)
    queue.release(of('a', 100))
    queue.mustHold(of('a', 100), false)
  })

  test('holds no bytes of a task that another process goes on with', async () => {
    const queue = new TurnQueue({ maxBytes: 20_000 })
    const { engine } = createEngineFor(createScriptedAgent(), { queue })
    const { id: taskId } = await begin(engine, 'hold')
    const sent = await engine.send(message('x'.repeat(12_000), { taskId }), {})
    await sent.task()
    const all = { principal: '', bytes: 20_000 }
    expect(() => queue.mustHold(all, false)).toThrow(
      expect.objectContaining({ code: 'unavailable' }),
    )
    engine.releaseAll()
    queue.mustHold(all, false)
  })

  test('lets one principal hold half of the slots, rounded up, even while nobody else wants them', () => {
    const { queue, started, enter, leave } = createLine(3)
    for (const name of ['a/x/1', 'a/y/2', 'a/z/3', 'b/x/1', 'b/x/2']) enter(name)
    expect(started).toEqual(['a/x/1', 'a/y/2', 'b/x/1'])
    leave('b/x/1')
    expect(started.at(-1)).toBe('b/x/2')
    leave('b/x/2')
    expect(queue.counts()).toEqual({ running: 2, waiting: 1, away: 0 })
    leave('a/y/2')
    expect(started.at(-1)).toBe('a/z/3')
  })

  test('has no share for callers without a name', () => {
    const { started, enter } = createLine(4)
    for (const name of ['/x/1', '/x/2', '/x/3', '/x/4']) enter(name)
    expect(started).toHaveLength(4)
  })

  test('refuses only those who would have to wait', () => {
    const { queue, enter } = createLine(2, 1)
    enter('a/x/1')
    enter('a/x/2')
    expect(() => queue.mustHaveRoom('a')).toThrow(expect.objectContaining({ code: 'unavailable' }))
    expect(() => queue.mustHaveRoom('b')).not.toThrow()
  })

  test('counts those who were taken in earlier in no limit', () => {
    const { queue, enter, readmit } = createLine(1, 1)
    for (const name of ['a/x/1', 'a/x/2', 'a/x/3']) readmit(name)
    expect(queue.counts().waiting).toBe(2)
    expect(() => queue.mustHaveRoom('b')).not.toThrow()
    enter('b/x/1')
    expect(() => queue.mustHaveRoom('c')).toThrow()
  })

  test('starts every turn that stays once, in order within its context, and never too many', () => {
    const name = fc.tuple(fc.constantFrom('', 'p', 'q', 'r'), fc.constantFrom('a', 'b'))
    const step = fc.oneof(
      fc.record({ enter: name }),
      fc.record({ leave: fc.nat(30) }),
      fc.record({ away: fc.nat(30) }),
      fc.record({ back: fc.nat(30) }),
    )
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 60 }),
        (slots, steps) => {
          const line = createLine(slots)
          const entered: string[] = []
          const left = new Set<string>()
          const depth = new Map<string, number>()
          for (const one of steps) {
            if ('enter' in one) {
              entered.push(`${one.enter[0]}/${one.enter[1]}/${entered.length}`)
              line.enter(entered.at(-1) ?? '')
            } else if ('leave' in one) {
              const gone = entered[one.leave % Math.max(1, entered.length)]
              if (gone !== undefined) left.add(gone)
              if (gone !== undefined) line.leave(gone)
            } else wander(line, depth, one)
            expect(line.queue.counts().running).toBeLessThanOrEqual(slots)
          }
          for (const [one, times] of depth)
            for (let left = times; left > 0; left--) void line.back(one)
          for (let next = 0; next < line.started.length; next++)
            line.leave(line.started[next] ?? '')
          expect(new Set(line.started).size).toBe(line.started.length)
          for (const one of entered) if (!left.has(one)) expect(line.started).toContain(one)
          expect(line.queue.counts()).toEqual({ running: 0, waiting: 0, away: 0 })
        },
      ),
    )
  })
})

/** One that has begun goes away, or comes back as often as it went. */
function wander(
  line: ReturnType<typeof createLine>,
  depth: Map<string, number>,
  step: { readonly away: number } | { readonly back: number },
): void {
  const of = (index: number): string => line.started[index % Math.max(1, line.started.length)] ?? ''
  if ('away' in step) {
    const name = of(step.away)
    if (name === '') return
    depth.set(name, (depth.get(name) ?? 0) + 1)
    line.away(name)
    return
  }
  const name = of(step.back)
  const times = depth.get(name) ?? 0
  if (times === 0) return
  depth.set(name, times - 1)
  void line.back(name)
}

describe('a turn that is away', () => {
  test('lets another have its slot, and comes back before those who are new', async () => {
    const { queue, started, enter, leave, away, back } = createLine(1)
    for (const name of ['/x/1', '/x/2', '/x/3']) enter(name)
    away('/x/1')
    expect(started).toEqual(['/x/1', '/x/2'])
    expect(queue.counts()).toEqual({ running: 1, waiting: 1, away: 1 })
    const returned = back('/x/1')
    leave('/x/2')
    await returned
    expect(started).toEqual(['/x/1', '/x/2', '/x/1 back'])
    leave('/x/1')
    expect(started.at(-1)).toBe('/x/3')
  })

  test('more than once gives its slot back once and takes it after the last', async () => {
    const { queue, enter, away, back } = createLine(1)
    enter('/x/1')
    away('/x/1')
    away('/x/1')
    await back('/x/1')
    expect(queue.counts()).toEqual({ running: 0, waiting: 0, away: 1 })
    await back('/x/1')
    expect(queue.counts()).toEqual({ running: 1, waiting: 0, away: 0 })
  })

  test('and goes away again while it waits to come back needs no slot any more', async () => {
    const { queue, started, enter, away, back, leave } = createLine(1)
    enter('/x/1')
    away('/x/1')
    enter('/x/2')
    const first = back('/x/1')
    away('/x/1')
    await first
    expect(queue.counts()).toEqual({ running: 1, waiting: 0, away: 1 })
    const second = back('/x/1')
    leave('/x/2')
    await second
    expect(started).toEqual(['/x/1', '/x/2', '/x/1 back', '/x/1 back'])
  })

  test('waits no longer to come back once it has left', async () => {
    const { queue, enter, away, back, leave } = createLine(1)
    enter('/x/1')
    away('/x/1')
    enter('/x/2')
    const returned = back('/x/1')
    leave('/x/1')
    await returned
    away('/x/1')
    await back('/x/1')
    expect(queue.counts()).toEqual({ running: 1, waiting: 0, away: 0 })
  })

  test('is within its principal’s share again only when it is back', async () => {
    const { started, enter, away, back, leave } = createLine(2)
    enter('a/x/1')
    away('a/x/1')
    enter('a/x/2')
    const returned = back('a/x/1')
    enter('b/x/1')
    expect(started).toEqual(['a/x/1', 'a/x/2', 'b/x/1'])
    leave('a/x/2')
    await returned
    expect(started.at(-1)).toBe('a/x/1 back')
  })

  test('is never refused and takes no room from those who wait', () => {
    const { queue, enter, away, back } = createLine(1, 1)
    for (const name of ['/x/1', '/x/2']) {
      enter(name)
      away(name)
    }
    enter('/x/3')
    for (const name of ['/x/1', '/x/2']) void back(name)
    expect(queue.counts()).toEqual({ running: 1, waiting: 2, away: 0 })
    expect(() => queue.mustHaveRoom('')).not.toThrow()
  })

  test('at its very start makes way for the next, thousands of times over', () => {
    const queue = new TurnQueue({ slots: 1 })
    const hold = queue.enter({ principal: '', contextId: '', start: () => {} })
    let begun = 0
    const start = (ticket: Ticket): void => {
      begun++
      ticket.away()
    }
    for (let i = 0; i < 10_000; i++) queue.enter({ principal: '', contextId: `${i}`, start })
    hold.leave()
    expect(begun).toBe(10_000)
    expect(queue.counts()).toEqual({ running: 0, waiting: 0, away: 10_000 })
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
    const { id, status } = taskOf(await waiting.answer.wait())
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
    expect(taskOf(await answer.answer.wait()).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('of a principal that holds its share leave the other half to others, who need not wait', async () => {
    const agent = createScriptedAgent()
    const { engine } = createEngineFor(agent, { slots: 4 })
    const by = (userId: string) => ({ call: { auth: { userId } } })
    const states: string[] = []
    for (let i = 0; i < 4; i++)
      states.push((await begin(engine, 'hold', by('ann'))).status.state.replace('TASK_STATE_', ''))
    expect(states).toEqual(['WORKING', 'WORKING', 'SUBMITTED', 'SUBMITTED'])
    await ask(engine, 'say hello', by('bob'))
    expect(agent.heard).toEqual(['hold', 'hold', 'say hello'])
    agent.release()
    agent.release()
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
    await bob.answer.wait()
    expect(agent.heard.indexOf('bob')).toBeLessThanOrEqual(2)
  })
})

describe('the queue of turns by default', () => {
  const refusal = (code: string) =>
    expect.objectContaining({ code, details: { retryAfterSeconds: 1 } })

  test('has 2,048 slots, and 10,000 turns may wait', () => {
    const { queue, started, enter } = createLine()
    for (let i = 0; i < 2_049; i++) enter(`/x/${i}`)
    expect(started).toHaveLength(2_048)
    for (let i = 2_049; i < 12_047; i++) enter(`/x/${i}`)
    queue.mustHaveRoom('')
    enter('/x/last')
    expect(() => queue.mustHaveRoom('')).toThrow(refusal('unavailable'))
  })

  test('lets 1,000 turns of one principal wait', () => {
    const { queue, started, enter } = createLine()
    for (let i = 0; i < 1_024 + 999; i++) enter(`a/x/${i}`)
    expect(started).toHaveLength(1_024)
    queue.mustHaveRoom('a')
    enter('a/x/last')
    expect(() => queue.mustHaveRoom('a')).toThrow(refusal('rateLimited'))
  })

  test('holds 128 MiB of messages', () => {
    const queue = new TurnQueue()
    const bytes = 128 * 1024 * 1024
    queue.mustHold({ principal: '', bytes }, false)
    expect(() => queue.mustHold({ principal: '', bytes: bytes + 1 }, false)).toThrow(
      refusal('unavailable'),
    )
  })
})

test('says how long each turn waited and ran, whether it was away or not', async () => {
  let now = 0
  const seen: string[] = []
  const queue = new TurnQueue({
    slots: 1,
    observer: {
      clock: { elapsed: () => now },
      waited: (ms) => void seen.push(`waited ${ms}`),
      turn: (ms) => void seen.push(`ran ${ms}`),
    },
  })
  const enter = () => queue.enter({ principal: '', contextId: 'c', start() {} })
  const first = enter()
  const second = enter()
  const third = enter()
  now = 5
  first.away()
  now = 7
  const back = first.back()
  expect(queue.counts()).toEqual({ running: 1, waiting: 2, away: 0 })
  // One that never had a slot has not run.
  third.leave()
  now = 12
  second.leave()
  await back
  now = 20
  first.leave()
  expect(seen).toEqual(['waited 0', 'waited 5', 'ran 7', 'ran 20'])
})
