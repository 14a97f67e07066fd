import { RateLimiterMemory } from 'rate-limiter-flexible'
import { describe, expect, test } from 'vitest'
import type { HttpRequest } from '../../src/bindings/http.ts'
import { createWebhookReceiver } from '../../src/client/webhook.ts'
import type { StreamResponse } from '../../src/protocol/types.ts'

const event: StreamResponse = {
  statusUpdate: { taskId: 't1', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } },
}

function delivery(headers: Record<string, string>, body: unknown = event): HttpRequest {
  return { method: 'POST', path: '/hook', query: '', headers, body: JSON.stringify(body) }
}

const token = { 'x-a2a-notification-token': 'very-secret' }

function receiver(seen: StreamResponse[] = []): ReturnType<typeof createWebhookReceiver> {
  return createWebhookReceiver({
    token: 'very-secret',
    expects: (taskId) => taskId === 't1',
    onEvent: (received) => void seen.push(received),
  })
}

describe('a receiver of webhooks', () => {
  test('G016 answers 2xx to an event with the right token', async () => {
    const seen: StreamResponse[] = []
    expect((await receiver(seen)(delivery(token))).status).toBe(204)
    expect(seen).toEqual([event])
  })

  test.each([
    ['no credentials', {}],
    ['a wrong token', { 'x-a2a-notification-token': 'guess' }],
    ['the token as something else', { authorization: 'Bearer very-secret' }],
  ])('G016 refuses %s', async (_, headers) => {
    const seen: StreamResponse[] = []
    expect((await receiver(seen)(delivery(headers))).status).toBe(401)
    expect(seen).toEqual([])
  })

  test('G016 takes the authentication of the push config, its scheme in any case', async () => {
    const handle = createWebhookReceiver({
      authentication: { scheme: 'Bearer', credentials: 'abc' },
      expects: () => true,
      onEvent: () => {},
    })
    expect((await handle(delivery({ authorization: 'bearer abc' }))).status).toBe(204)
    expect((await handle(delivery({ authorization: 'Bearer abd' }))).status).toBe(401)
    expect((await handle(delivery({ authorization: 'Basic abc' }))).status).toBe(401)
  })

  test('G016 cannot be made without credentials', () => {
    expect(() => createWebhookReceiver({ expects: () => true, onEvent: () => {} })).toThrow(
      TypeError,
    )
  })

  test.each([
    { statusUpdate: { ...event.statusUpdate, contextId: 5 } },
    { statusUpdate: { ...event.statusUpdate, status: { state: true } } },
    { kind: 'task', id: 't1', contextId: 'c', status: { state: 'working' }, artifacts: 'none' },
    { task: { id: 't1', status: { state: 'TASK_STATE_WORKING', message: [] } } },
    { artifactUpdate: { taskId: 't1', contextId: 'c', artifact: { artifactId: 'a', parts: 7 } } },
  ])('G016 refuses an event with a wrong type: %j', async (wrong) => {
    const seen: StreamResponse[] = []
    expect((await receiver(seen)(delivery(token, wrong))).status).toBe(400)
    expect(seen).toEqual([])
  })

  test('G017 refuses a task that nobody awaits', async () => {
    const other = { statusUpdate: { ...event.statusUpdate, taskId: 't2' } }
    expect((await receiver()(delivery(token, other))).status).toBe(404)
  })

  test('G018 handles an event once, however often it comes', async () => {
    const seen: StreamResponse[] = []
    const handle = receiver(seen)
    const twice = delivery({ ...token, 'x-a2a-event-id': 't1:7' })
    const replies = await Promise.all([handle(twice), handle(twice)])
    expect(replies.map((reply) => reply.status)).toEqual([204, 204])
    expect(seen).toHaveLength(1)
  })

  test('lets an event that failed come again', async () => {
    let calls = 0
    const handle = createWebhookReceiver({
      token: 'very-secret',
      expects: () => true,
      onEvent: () => {
        calls += 1
        if (calls === 1) throw new Error('database of customers is down')
      },
    })
    const request = delivery({ ...token, 'x-a2a-event-id': 't1:7' })
    expect(await handle(request)).toEqual({ status: 500, headers: {} })
    expect((await handle(request)).status).toBe(204)
    expect(calls).toBe(2)
  })

  test('G018 can be limited in its rate', async () => {
    const limiter = new RateLimiterMemory({ points: 1, duration: 60 })
    const handle = createWebhookReceiver({
      token: 'very-secret',
      expects: () => true,
      onEvent: () => {},
      allow: (taskId) =>
        limiter.consume(taskId).then(
          () => true,
          () => false,
        ),
    })
    expect((await handle(delivery(token))).status).toBe(204)
    expect((await handle(delivery(token))).status).toBe(429)
  })

  test('understands the task of a 0.3 server', async () => {
    const seen: StreamResponse[] = []
    const task = { kind: 'task', id: 't1', contextId: 'c', status: { state: 'completed' } }
    expect((await receiver(seen)(delivery(token, task))).status).toBe(204)
    expect(seen[0]).toMatchObject({ task: { id: 't1', status: { state: 'TASK_STATE_COMPLETED' } } })
  })

  test.each([['{'], ['null'], ['[]'], ['{"x":1}'], ['{"task":{}}']])('refuses %s', async (body) => {
    expect((await receiver()({ ...delivery(token), body })).status).toBe(400)
  })

  test('refuses other verbs', async () => {
    expect((await receiver()({ ...delivery(token), method: 'GET' })).status).toBe(405)
  })
})
