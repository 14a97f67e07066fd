import { expect, test } from 'vitest'
import { createDeferred, withSignal } from '../../src/shared/async.ts'

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
