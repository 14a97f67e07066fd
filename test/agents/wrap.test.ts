import { describe, expect, test } from 'vitest'
import type { Agent, Turn } from '../../src/agents/agent.ts'
import { defineAgent } from '../../src/agents/function.ts'
import { InnerTurn, WrappedTurn, wrapAgent } from '../../src/agents/wrap.ts'
import { userMessage } from '../../src/protocol/task.ts'
import { ask, createEngineFor } from '../engine/scene.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

/** Every member of the contract: one that is added and not listed here does not compile. */
const members: Readonly<Record<keyof Turn, 'value' | 'method'>> = {
  taskId: 'value',
  contextId: 'value',
  message: 'value',
  number: 'value',
  task: 'value',
  history: 'value',
  caller: 'value',
  tenant: 'value',
  signal: 'value',
  log: 'value',
  extensions: 'value',
  acceptedOutputModes: 'value',
  outputSchema: 'value',
  metadata: 'value',
  attempt: 'value',
  traceparent: 'value',
  hops: 'value',
  status: 'method',
  artifact: 'method',
  ask: 'method',
  reply: 'method',
  step: 'method',
  stepKey: 'method',
  load: 'method',
  save: 'method',
  context: 'value',
  away: 'method',
  callback: 'method',
  taskStore: 'value',
  account: 'value',
  trace: 'method',
  conversation: 'method',
}

/** A turn whose members are all told apart: values are symbols, methods note that they were called. */
function recorded(calls: string[]): Turn {
  const turn = Object.fromEntries(
    Object.entries(members).map(([name, kind]) => [
      name,
      kind === 'value' ? Symbol(name) : (given: unknown) => void calls.push(`${name} ${given}`),
    ]),
  )
  return turn as unknown as Turn // a stand-in that has the members of the contract, of other types
}

const takesNothing = ['away', 'callback']

describe('a wrapped turn', () => {
  test('has every member of the contract, each the outer one’s', () => {
    const calls: string[] = []
    const outer = recorded(calls)
    const wrapped = new WrappedTurn(outer)
    for (const [name, kind] of Object.entries(members)) {
      const own = Reflect.get(wrapped, name)
      if (kind === 'value') expect(own, name).toBe(Reflect.get(outer, name))
      else {
        Reflect.apply(own, wrapped, ['given'])
        expect(calls.at(-1)).toBe(`${name} ${takesNothing.includes(name) ? undefined : 'given'}`)
      }
    }
  })

  test('shows nothing of the outer one to a log', async () => {
    const outer = createTurn('the secret')
    const inner = new InnerTurn(outer, { space: 's', message: userMessage('left') })
    expect([Object.keys(new WrappedTurn(outer)), JSON.stringify(inner)]).toEqual([[], '{}'])
    let seen = ''
    const agent = defineAgent({ name: 'A', guards: { input: ['secrets'] } }, (_, turn) => {
      seen = JSON.stringify(turn)
      return 'done'
    })
    await runTurn(agent, createTurn('key sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD'))
    expect(seen).not.toBe('')
    expect(seen).not.toContain('sk-abc')
  })

  test('has the members that the engine gives its own turns', async () => {
    const seen: string[] = []
    const agent = defineAgent({ name: 'Looker' }, (_, turn) => {
      const wrapped = new WrappedTurn(turn)
      for (const name of Object.keys(members))
        if (typeof Reflect.get(wrapped, name) === typeof Reflect.get(turn, name)) seen.push(name)
      return 'seen'
    })
    await ask(createEngineFor(agent).engine, 'look')
    expect(seen).toEqual(Object.keys(members))
  })

  test('of an agent within another’s turn keeps steps and state apart', async () => {
    const outer = createTurn('outer')
    const message = userMessage('inner')
    const inner = new InnerTurn(outer, { space: 'mine', message })
    expect(inner.message).toBe(message)
    expect(inner.taskStore).toBeUndefined()
    await inner.save('k', 1)
    await inner.step('s', () => 2)
    expect([...outer.saved.keys()]).toEqual(['mine/k'])
    expect([...outer.steps.keys()]).toEqual(['mine/s'])
    expect(inner.load('k')).toBe(1)
  })
})

describe('a wrapped agent', () => {
  class Counting implements Agent {
    #count = 0
    readonly resumable = true
    readonly addedLater = 'kept'
    get definition(): number {
      return ++this.#count
    }
    info() {
      return { id: 'c', name: 'C', description: 'd', capabilities: [], metadata: {} }
    }
    process(_message: unknown, _turn: unknown, ...more: unknown[]) {
      return `${this.#count} ${more.join()}`
    }
    moreOfItsKind(): number {
      return this.#count
    }
  }

  test('has every member, those of its kind and those that read private fields too', () => {
    const wrapped = wrapAgent(new Counting(), {})
    expect(wrapped.resumable).toBe(true)
    expect(wrapped.info()).toMatchObject({ id: 'c' })
    expect(Reflect.get(wrapped, 'addedLater')).toBe('kept')
    expect(wrapped.definition).toBe(1)
    expect(wrapped.definition).toBe(2)
    expect(Reflect.apply(Reflect.get(wrapped, 'moreOfItsKind'), undefined, [])).toBe(2)
  })

  test('does not look at what it wraps before it is asked', () => {
    const agent = new Counting()
    wrapAgent(agent, {})
    expect(agent.moreOfItsKind()).toBe(0)
  })

  test('differs where it is told to, and leaves out what is undefined', async () => {
    const agent = defineAgent({ name: 'A', health: async () => ({ healthy: true }) }, () => 'a')
    const wrapped = wrapAgent(agent, { resumable: true, health: undefined })
    expect(wrapped.resumable).toBe(true)
    expect('health' in wrapped).toBe(false)
    expect(await runTurn(wrapped, createTurn('x'))).toEqual(['a'])
  })

  test('passes on what its kind is given beside message and turn', () => {
    const wrapped = wrapAgent(new Counting(), { process: (answer, _, turn) => answer(turn) })
    const turn = createTurn('x')
    expect(Reflect.apply(wrapped.process, undefined, [turn.message, turn, 'tools'])).toBe('0 tools')
  })
})
