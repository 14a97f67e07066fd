import { describe, expect, test } from 'vitest'
import { withLimits } from '../../src/agents/create.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { createFakeClock, createInstantClock } from '../../src/testing/index.ts'
import { member, untilCancelled } from '../fixtures/members.ts'
import { createTurn, runTurn } from '../fixtures/turn.ts'

const never = new Promise<never>(() => {})

describe('an agent of a file', () => {
  test('without limits is left as it is', () => {
    const agent = member('a')
    expect(withLimits(agent, { name: 'A' })).toBe(agent)
  })

  test('is given up when it is silent for too long, and cleans up where it can', async () => {
    const clock = createFakeClock()
    for (const agent of [
      member('promise', () => never),
      member('generator', async function* () {
        yield 'first'
        await never
      }),
    ]) {
      const limited = withLimits(agent, { name: 'Slow', timeoutSeconds: 2, clock })
      const running = runTurn(limited, createTurn('x'))
      const failed = expect(running).rejects.toMatchObject({
        code: 'timeout',
        message: 'Slow did not answer in time',
      })
      await expect.poll(() => agent.turns.length).toBe(1)
      clock.advance(2_000)
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(2_000)
      await failed
      expect(clock.pending()).toEqual([])
    }
  })

  test('hears by its signal that it was given up', async () => {
    const clock = createFakeClock()
    const agent = member('a', (_text, turn) => untilCancelled(turn))
    const limited = withLimits(agent, { name: 'Slow', timeoutSeconds: 2, clock })
    const turn = createTurn('x')
    const failed = expect(runTurn(limited, turn)).rejects.toMatchObject({ code: 'timeout' })
    await expect.poll(() => agent.turns.length).toBe(1)
    clock.advance(2_000)
    await failed
    expect(agent.turns[0]?.signal.aborted).toBe(true)
    expect(agent.turns[0]?.taskId).toBe(turn.taskId)
    expect(turn.signal.aborted).toBe(false)
  })

  test('may take any time as long as it speaks', async () => {
    const clock = createFakeClock()
    const agent = member('a', async function* () {
      for (const word of ['a', 'b', 'c']) {
        clock.advance(1_500)
        yield word
      }
    })
    const limited = withLimits(agent, { name: 'A', timeoutSeconds: 2, clock })
    expect(await runTurn(limited, createTurn('x'))).toEqual(['a', 'b', 'c'])
  })

  test('is asked again when it failed before it said anything', async () => {
    const clock = createInstantClock()
    let failures = 2
    const agent = member('a', (text) => {
      if (failures-- > 0) throw new Error('not yet')
      return `a(${text})`
    })
    const limited = withLimits(agent, { name: 'A', maxRetries: 2, clock, random: () => 0 })
    expect(await runTurn(limited, createTurn('x'))).toEqual(['a(x)'])
    expect(clock.waits).toEqual([250, 500])
  })

  test.each([
    [
      'has spoken',
      async function* () {
        yield 'word'
        throw new Error('late')
      },
    ],
    ['refuses', () => Promise.reject(new A2AError('unsupportedOperation', 'late'))],
  ])('is not asked again when it %s', async (_name, answer) => {
    const agent = member('a', answer)
    const limited = withLimits(agent, { name: 'A', maxRetries: 3, clock: createInstantClock() })
    await expect(runTurn(limited, createTurn('x'))).rejects.toThrow('late')
    expect(agent.turns).toHaveLength(1)
  })

  test('is asked no more often than it may be, and not after a cancel', async () => {
    const agent = member('a', () => Promise.reject(new Error('never')))
    const limited = withLimits(agent, { name: 'A', maxRetries: 1, clock: createInstantClock() })
    await expect(runTurn(limited, createTurn('x'))).rejects.toThrow('never')
    expect(agent.turns).toHaveLength(2)
    const turn = createTurn('x')
    turn.cancel(new Error('enough'))
    await expect(runTurn(limited, turn)).rejects.toThrow()
    expect(agent.turns).toHaveLength(3)
  })
})
