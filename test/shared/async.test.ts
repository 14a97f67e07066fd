import { expect, test } from 'vitest'
import {
  beginRequest,
  connectionAccepted,
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

/** Holds the event loop for so long. */
function hold(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

const iteration = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('requests begin for 5 ms of an iteration, and the others in the next ones, in their order', async () => {
  await iteration()
  const begun: string[] = []
  const request = (name: string) => (): void => {
    begun.push(name)
    hold(6)
  }
  for (const name of ['a', 'b', 'c']) beginRequest(request(name))
  expect(begun).toEqual(['a'])
  await iteration()
  expect(begun).toEqual(['a', 'b'])
  await iteration()
  expect(begun).toEqual(['a', 'b', 'c'])
  beginRequest(request('d'))
  while (begun.length < 4) await iteration()
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
})

test('after a long iteration requests and long work wait while connections come, but not for ever', async () => {
  const isDeferred = async (): Promise<boolean> => {
    beginRequest(() => hold(12))
    connectionAccepted()
    await iteration()
    const done: string[] = []
    beginRequest(() => done.push('request'))
    void myTurn().then(() => done.push('long work'))
    const atOnce = [...done]
    while (done.length < 2) {
      connectionAccepted()
      await iteration()
    }
    return atOnce.length === 0
  }
  const deferred: boolean[] = []
  for (let i = 0; i < 5; i++) deferred.push(await isDeferred())
  expect(deferred).toContain(true)

  // Without connections nothing waits, however long an iteration was.
  await iteration()
  await iteration()
  beginRequest(() => hold(12))
  await iteration()
  const done: string[] = []
  beginRequest(() => done.push('request'))
  expect(done).toEqual(['request'])
})
