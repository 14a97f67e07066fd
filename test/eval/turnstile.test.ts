import { expect, test } from 'vitest'
import { createTurnstile } from '../../src/eval/base.ts'

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a turnstile lets one piece of work go on in each round of the event loop', async () => {
  const order: string[] = []
  const pass = createTurnstile()
  const work = ['first', 'second', 'third'].map((name) => pass().then(() => order.push(name)))
  const rounds = async (): Promise<void> => {
    for (const round of [1, 2, 3]) {
      await nextRound()
      order.push(`round ${round}`)
    }
  }
  await Promise.all([...work, rounds()])
  expect(order).toEqual(['first', 'round 1', 'second', 'round 2', 'third', 'round 3'])
  await pass()
})
