import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { traceExtension } from '../../src/protocol/extensions.ts'
import { ask, createEngineFor, eventsOf, message, taskOf, textOf } from './scene.ts'

describe('a durable step', () => {
  test('runs once per turn and name, one after the other or at once', async () => {
    const ran: string[] = []
    const agent = defineAgent({ name: 'a' }, async (_message, turn) => {
      const work = (name: string) => async () => {
        ran.push(name)
        return `${name} ${ran.length}`
      }
      const first = await turn.step('one', work('one'))
      const again = await turn.step('one', work('one'))
      const both = await Promise.all([turn.step('two', work('two')), turn.step('two', work('two'))])
      return [first, again, ...both].join(', ')
    })
    const { engine, store } = createEngineFor(agent)
    const task = taskOf(await ask(engine, 'go'))
    expect(textOf(task)).toBe('one 1, one 1, two 2, two 2')
    expect(ran).toEqual(['one', 'two'])
    const steps = (await store.records(task.id, 0)).filter((one) => one.kind === 'step')
    expect(steps.map((one) => one.kind === 'step' && one.name)).toEqual(['one', 'two'])
  })

  test('that fails is not in the log, and may be tried again', async () => {
    let tries = 0
    const agent = defineAgent({ name: 'a' }, async (_message, turn) => {
      const work = (): number => {
        if (++tries < 3) throw new Error('not yet')
        return tries
      }
      for (;;) {
        const result = await turn.step('flaky', work).catch(() => undefined)
        if (result !== undefined) return `after ${result}`
      }
    })
    const { engine, store } = createEngineFor(agent)
    const task = taskOf(await ask(engine, 'go'))
    expect(textOf(task)).toBe('after 3')
    expect((await store.records(task.id, 0)).filter((one) => one.kind === 'step')).toHaveLength(1)
  })

  test('sets values of the conversation with its result, and none where it fails', async () => {
    const agent = defineAgent({ name: 'a' }, async (_message, turn) => {
      const seen: unknown[] = []
      const count = async (fails: boolean): Promise<number> => {
        const count = Number((await turn.context.get('count')) ?? 0) + 1
        turn.context.set('count', count)
        await turn.save('counted', count)
        seen.push(await turn.context.get('count'), await stored())
        if (fails) throw new Error('not yet')
        return count
      }
      await turn.step('count', () => count(true)).catch(() => {})
      seen.push(await turn.context.get('count'))
      await turn.step('count', () => count(false))
      return JSON.stringify([...seen, await turn.context.get('count'), await stored()])
    })
    const { engine, store, scope } = createEngineFor(agent)
    const stored = async () => (await store.contextValues(scope, 'c')).get('count')
    const task = taskOf(await ask(engine, 'go', { contextId: 'c' }))
    expect(textOf(task)).toBe(JSON.stringify([1, null, null, 1, null, 1, 1]))
  })

  test('that sets a value after the step around it keeps the last word', async () => {
    const agent = defineAgent({ name: 'a' }, async (_message, turn) => {
      const seen: unknown[] = []
      await turn.step('outer', async () => {
        turn.context.set('k', 1)
        await turn.step('inner', (values) => {
          values.set('k', 2)
          return null
        })
        seen.push(await turn.context.get('k'))
        return null
      })
      return JSON.stringify([...seen, await turn.context.get('k'), await stored()])
    })
    const { engine, store, scope } = createEngineFor(agent)
    const stored = async () => (await store.contextValues(scope, 'c')).get('k')
    expect(textOf(taskOf(await ask(engine, 'go', { contextId: 'c' })))).toBe('[2,2,2]')
  })

  test('of one turn is not that of the next', async () => {
    let ran = 0
    const agent = defineAgent({ name: 'a' }, async function* (_message, turn) {
      yield String(await turn.step('same', () => ++ran))
      yield turn.ask('again?')
    })
    const { engine } = createEngineFor(agent)
    const { id: taskId } = taskOf(await ask(engine, 'one'))
    const task = taskOf(await ask(engine, 'two', { taskId }))
    expect(textOf(task)).toBe('12')
  })
})

describe('a trace', () => {
  const agent = defineAgent({ name: 'a' }, async function* (_message, turn) {
    turn.trace({ kind: 'secret plan' })
    yield 'done'
  })

  test('is in no event and no task', async () => {
    const { engine } = createEngineFor(agent)
    const sent = await engine.send(message('go'), {})
    const events = await eventsOf(sent.events())
    expect(JSON.stringify([events, await sent.task()])).not.toContain('secret plan')
  })

  test('is not written once the turn is over', async () => {
    const late = defineAgent({ name: 'late' }, async function* (_message, turn) {
      try {
        yield turn.ask('Which?')
      } finally {
        turn.trace({ kind: 'late' })
      }
    })
    const { engine, store } = createEngineFor(late)
    const { id } = taskOf(await ask(engine, 'go'))
    await expect.poll(() => engine.live()).toBe(0)
    expect((await store.records(id, 0)).map(({ kind }) => kind)).not.toContain('trace')
  })

  test('is shown to those who watch with it, in its place', async () => {
    const { engine, scope } = createEngineFor(agent)
    const { id } = taskOf(await ask(engine, 'go'))
    const stream = await engine.subscribe(id, scope, { lastEventId: 0, trace: true })
    const shown = (await eventsOf(stream)).flatMap((event) =>
      'statusUpdate' in event ? (event.statusUpdate.metadata?.[traceExtension] ?? []) : [],
    )
    expect(shown).toEqual([{ kind: 'secret plan', time: expect.any(String) }])
    const records = await engine.store.records(id, 0)
    expect(records).toContainEqual(expect.objectContaining({ entry: { kind: 'secret plan' } }))
  })
})

describe('the conversation of a context', () => {
  test('is what was said in its tasks, oldest first, the answers included', async () => {
    const agent = defineAgent({ name: 'a' }, async ({ parts }, turn) => {
      const earlier = await turn.conversation(10)
      const words = earlier.flatMap((one) => one.parts.map((p) => ('text' in p ? p.text : '')))
      const [first] = parts
      return `${first && 'text' in first ? first.text : ''} after [${words.join(' | ')}]`
    })
    const { engine } = createEngineFor(agent)
    const contextId = 'c'
    await ask(engine, 'one', { contextId })
    await ask(engine, 'elsewhere', { contextId: 'other' })
    const last = taskOf(await ask(engine, 'two', { contextId }))
    expect(textOf(last)).toBe('two after [one | one after []]')
  })
})
