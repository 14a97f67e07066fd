import { describe, expect, test } from 'vitest'
import { connectFailure, connectionLost, tooSlow } from '../../src/client/http.ts'
import { type RetryOptions, withRetry } from '../../src/client/retry.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import type { Call, Dispatch, OperationName } from '../../src/protocol/operations.ts'
import { silent } from '../../src/shared/log.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts'

const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
const url = 'http://agent.example/'
const faults = {
  refused: connectFailure(url, undefined),
  lost: connectionLost(url, undefined),
  slow: tooSlow(url, 1),
  busy: new A2AError('unavailable', '503', { retryAfterSeconds: 0 }),
  bare: new A2AError('unavailable', '503'),
  halfway: new A2AError('agentUnavailable', 'A member is gone'),
  limited: new A2AError('rateLimited', '429'),
  wrong: new A2AError('invalidParams', 'wrong'),
} as const

interface Setup extends RetryOptions {
  readonly faults: readonly A2AError[]
  readonly clock?: FakeClock
  readonly idempotent?: boolean
}

/** A dispatch that fails with the given faults, one after the other, then answers; and the calls it saw. */
function failing(setup: Setup): { dispatch: Dispatch; calls: Call[] } {
  const { faults: queue, clock = createFakeClock(), idempotent = false, ...options } = setup
  const calls: Call[] = []
  const answers = [...queue]
  const inner = async (_name: OperationName, _request: unknown, call: Call): Promise<unknown> => {
    calls.push(call)
    const fault = answers.shift()
    if (fault) throw fault
    return task
  }
  const context = { baseMs: 100, ...options, clock, random: () => 1, log: silent }
  const wrap = withRetry(context, () => idempotent)
  return { dispatch: wrap(inner as Dispatch), calls } // the tests look at calls, not at results
}

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } as const

describe('a read', () => {
  test.each(['refused', 'lost', 'slow', 'busy', 'bare', 'halfway', 'limited'] as const)(
    'C-31 is tried again after %s',
    async (name) => {
      const clock = createFakeClock()
      const { dispatch, calls } = failing({ faults: [faults[name]], clock })
      const result = dispatch('GetTask', { id: 't' }, {})
      await clock.elapse(100)
      expect(await result).toBe(task)
      expect(calls).toHaveLength(2)
    },
  )

  test('is not tried again after a fault of its own', async () => {
    const { dispatch, calls } = failing({ faults: [faults.wrong] })
    await expect(dispatch('GetTask', { id: 't' }, {})).rejects.toBe(faults.wrong)
    expect(calls).toHaveLength(1)
  })

  test('C-31 waits longer each time and gives up with the last fault', async () => {
    const clock = createFakeClock()
    const { dispatch, calls } = failing({
      faults: [faults.lost, faults.busy, faults.lost, faults.slow],
      clock,
    })
    const result = dispatch('GetTask', { id: 't' }, {})
    const failed = expect(result).rejects.toBe(faults.slow)
    for (const ms of [100, 200, 400]) await clock.elapse(ms)
    await failed
    expect(calls).toHaveLength(4)
  })

  test.each([
    [0, 1],
    [99, 11],
  ])('C-31 with %i retries makes %i tries', async (maxRetries, tries) => {
    const clock = createFakeClock()
    const { dispatch, calls } = failing({
      faults: Array.from({ length: 20 }, () => faults.busy),
      clock,
      maxRetries,
      maxMs: 100,
    })
    const failed = expect(dispatch('GetTask', { id: 't' }, {})).rejects.toBe(faults.busy)
    for (let n = 1; n < tries; n++) await clock.elapse(100)
    await failed
    expect(calls).toHaveLength(tries)
  })

  test('C-31 waits as long as Retry-After says', async () => {
    const clock = createFakeClock()
    const fault = new A2AError('rateLimited', '429', { retryAfterSeconds: 7 })
    const { dispatch } = failing({ faults: [fault], clock })
    const result = dispatch('GetTask', { id: 't' }, {})
    await clock.elapse(7000)
    expect(await result).toBe(task)
  })

  test('gives up at once where Retry-After asks for too much patience', async () => {
    const fault = new A2AError('unavailable', '503', { retryAfterSeconds: 3600 })
    const { dispatch } = failing({ faults: [fault] })
    await expect(dispatch('GetTask', { id: 't' }, {})).rejects.toBe(fault)
  })

  test('stops waiting when the signal fires', async () => {
    const controller = new AbortController()
    const { dispatch } = failing({ faults: [faults.busy] })
    const result = dispatch('GetTask', { id: 't' }, { signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(result).rejects.toThrow('enough')
  })
})

describe('a send', () => {
  test.each(['refused', 'busy', 'limited'] as const)(
    'C-31 is tried again after %s, with the same key',
    async (name) => {
      const clock = createFakeClock()
      const { dispatch, calls } = failing({ faults: [faults[name]], clock })
      const result = dispatch('SendMessage', { message }, {})
      await clock.elapse(100)
      await result
      expect(calls).toHaveLength(2)
      expect(calls[0]?.idempotencyKey).toMatch(/^[0-9a-f-]{36}$/)
      expect(calls[1]?.idempotencyKey).toBe(calls[0]?.idempotencyKey)
    },
  )

  test.each(['lost', 'slow', 'bare', 'halfway'] as const)(
    'C-31 is not repeated after %s, since it may have arrived',
    async (name) => {
      const { dispatch, calls } = failing({ faults: [faults[name]] })
      await expect(dispatch('SendMessage', { message }, {})).rejects.toBe(faults[name])
      expect(calls).toHaveLength(1)
    },
  )

  test.each(['lost', 'slow', 'bare', 'halfway'] as const)(
    'C-31 is repeated after %s where the card declares idempotency',
    async (name) => {
      const clock = createFakeClock()
      const { dispatch, calls } = failing({ faults: [faults[name]], clock, idempotent: true })
      const result = dispatch('SendStreamingMessage', { message }, { idempotencyKey: 'mine' })
      await clock.elapse(100)
      await result
      expect(calls.map((call) => call.idempotencyKey)).toEqual(['mine', 'mine'])
    },
  )

  test('a push config is never created twice by us', async () => {
    const { dispatch, calls } = failing({ faults: [faults.lost], idempotent: true })
    const config = { taskId: 't', url: 'https://hook.example/' }
    await expect(dispatch('CreateTaskPushNotificationConfig', config, {})).rejects.toBe(faults.lost)
    expect(calls).toHaveLength(1)
  })
})
