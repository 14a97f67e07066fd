import { expect, test } from 'vitest'
import {
  createDeferred,
  myTurn,
  type PausableWork,
  runInSlices,
  withSignal,
} from '../../src/shared/async.ts'
import type { Clock } from '../../src/shared/clock.ts'

test('work that fails after its signal fired disturbs nobody', async () => {
  const unheard: unknown[] = []
  const hear = (reason: unknown): void => void unheard.push(reason)
  process.on('unhandledRejection', hear)
  try {
    const before = new AbortController()
    before.abort(new Error('gone'))
    const failing = new Promise<never>((_, reject) => setImmediate(() => reject(new Error('late'))))
    await expect(withSignal(failing, before.signal)).rejects.toThrow('gone')

    const during = new AbortController()
    const { promise, reject } = createDeferred<void>()
    const waiting = withSignal(promise, during.signal)
    during.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    reject(new Error('late'))

    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    expect(unheard).toEqual([])
  } finally {
    process.off('unhandledRejection', hear)
  }
})

test('principals take turns, however much work one of them has', async () => {
  const order: string[] = []
  const work = (principal: string): Promise<unknown> =>
    myTurn(principal).then(() => order.push(principal))
  await Promise.all(['ann', 'ann', 'ann', 'ann', 'bob', 'bob', 'eve'].map(work))
  expect(order.join(' ')).toBe('ann bob eve ann bob ann ann')
})

test('long work runs in slices of 5 ms, one in a tick, and short work without a promise', async () => {
  let ms = 0
  const clock: Clock = { now: () => ms, elapsed: () => ms, after: () => () => {} }
  const steps: number[] = []
  let tick = 0
  function* counting(times: number): PausableWork<string> {
    for (let i = 0; i < times; i++) {
      steps[tick] = (steps[tick] ?? 0) + 1
      ms++
      yield
    }
    return 'done'
  }
  expect(runInSlices(counting(0), { clock })).toBe('done')
  let isDone = false
  const counts = (): void => {
    tick++
    if (!isDone) setImmediate(counts)
  }
  setImmediate(counts)
  expect(await runInSlices(counting(18), { clock })).toBe('done')
  isDone = true
  expect(steps.filter(Boolean)).toEqual([1, 5, 5, 5, 2])
})
