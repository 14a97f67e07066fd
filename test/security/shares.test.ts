import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/function.ts'
import { textOf } from '../../src/protocol/task.ts'
import type { LimitOptions } from '../../src/server/access/limits.ts'
import { bearer } from '../../src/server/index.ts'
import { serve } from '../acceptance/serve.ts'
import { stores } from './stores.ts'

/** Ends at once, asks, or stays until it is cancelled. */
const worker = defineAgent({ name: 'Worker' }, async function* (message, turn) {
  const text = textOf(message.parts)
  if (text.startsWith('ask')) return yield turn.ask('more?')
  if (text.startsWith('stay'))
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
  yield 'done'
})

interface Sent {
  readonly status: number
  readonly retryAfter: string | null
  readonly taskId: string
  readonly state: string
}

describe.each(stores)('on the %s store', (_name, open) => {
  async function serveWith(limits: LimitOptions) {
    const tokens = { ann: 'ann', bob: 'bob' }
    const { url } = await serve({
      agents: [worker],
      store: await open(),
      auth: { required: false, authenticators: [bearer({ tokens })] },
      limits,
      timeouts: { shutdownMs: 0 },
    })
    return async (who: 'ann' | 'bob' | '', text: string, more: object = {}): Promise<Sent> => {
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], ...more }
      const configuration = { returnImmediately: !text.startsWith('ask') }
      const response = await fetch(`${url}/message:send`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'a2a-version': '1.0',
          ...(who && { authorization: `Bearer ${who}` }),
        },
        body: JSON.stringify({ message, configuration }),
      })
      const { task } = await response.json()
      return {
        status: response.status,
        retryAfter: response.headers.get('retry-after'),
        taskId: task?.id,
        state: task?.status.state,
      }
    }
  }

  test.each(['ann', ''] as const)(
    'one caller (%j) fills neither the slots nor the queue for others',
    async (flooder) => {
      const send = await serveWith({ maxConcurrentTurns: 4, maxWaitingPerPrincipal: 5 })
      const flood: Sent[] = []
      for (let i = 0; i < 20; i += 1) flood.push(await send(flooder, 'stay'))
      expect(flood.filter(({ status }) => status === 200)).toHaveLength(7)
      expect(flood.slice(2, 7).every(({ state }) => state === 'TASK_STATE_SUBMITTED')).toBe(true)
      const refused = flood.filter(({ status }) => status === 429)
      expect(refused).toHaveLength(13)
      expect(refused.every(({ retryAfter }) => retryAfter === '1')).toBe(true)
      for (let i = 0; i < 3; i += 1) expect((await send('bob', 'end')).status).toBe(200)
    },
  )

  test('one caller fills a quarter of the bytes that wait or run, and answers are taken beyond it', async () => {
    const send = await serveWith({ maxQueuedBytes: 40_000, maxConcurrentTurns: 2 })
    const { taskId } = await send('ann', 'ask')
    const bulk = 'x'.repeat(4_000)
    expect((await send('ann', `stay ${bulk}`)).status).toBe(200)
    // It waits for a slot, and counts all the same.
    expect((await send('ann', `stay ${bulk}`)).status).toBe(200)
    const refused = await send('ann', `end ${bulk}`)
    expect([refused.status, refused.retryAfter]).toEqual([503, '1'])
    expect((await send('ann', `end ${bulk}`, { taskId })).status).toBe(200)
    expect((await send('bob', `end ${bulk}`)).status).toBe(200)
  })

  test('bytes are free again when a turn is over', async () => {
    const send = await serveWith({ maxQueuedBytes: 20_000 })
    for (let i = 0; i < 20; i += 1)
      expect((await send('ann', `ask ${'x'.repeat(4_000)}`)).status).toBe(200)
  })
})
