import { describe, expect, test } from 'vitest'
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts'
import { rpc } from './serve.ts'
import { serveTeam } from './team.ts'

const send = {
  method: 'message/send',
  params: {
    message: {
      role: 'user',
      parts: [{ type: 'text', text: 'Write a fantasy story about dragons' }],
    },
  },
}

const queued = `{
  "task": {
    "id": "task-123e4567-e89b-12d3-a456-426614174000",
    "status": {
      "state": "queued",
      "updated_at": "2025-12-11T10:30:00Z"
    }
  }
}`

/** Five seconds before the moment of 004's example. */
const start = Date.parse('2025-12-11T10:29:55Z')
/** A clock that stands still must not keep the server from closing. */
const timeouts = { shutdownMs: 0 }

/** A member that takes its time, and counts how often it is asked. */
function slow(clock: FakeClock, ms: number) {
  const calls: string[] = []
  const answer = (text: string): Promise<string> => {
    calls.push(text)
    return new Promise((resolve) => clock.after(ms, () => resolve('Once upon a time...')))
  }
  return { calls, answer }
}

describe('AT-2: slow processing becomes a task', () => {
  test('4.9 seconds are a message', async () => {
    const clock = createFakeClock(start)
    const { calls, answer } = slow(clock, 4_900)
    const url = await serveTeam(answer, { clock, timeouts })
    const pending = rpc(url, send)
    await clock.elapse(4_900)
    expect((await pending).result).toEqual({
      message: { role: 'agent', parts: [{ type: 'text', text: 'Once upon a time...' }] },
    })
    expect(calls).toHaveLength(1)
  })

  test('5.1 seconds are a task, which goes on and can be asked for', async () => {
    const clock = createFakeClock(start)
    const { calls, answer } = slow(clock, 5_100)
    const url = await serveTeam(answer, { clock, timeouts })
    const pending = rpc(url, send)
    await clock.elapse(5_000)
    const { task } = (await pending).result
    expect(task.id).toMatch(/^task-[0-9a-f-]{36}$/)
    expect(task.status.state).toBe('working')
    expect(task.status.updated_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    clock.advance(100)
    const read = async () =>
      (await rpc(url, { method: 'task/get', params: { task_id: task.id } })).result
    await expect.poll(async () => (await read()).status.state).toBe('completed')
    expect((await read()).result.parts[0].text).toBe('Once upon a time...')
    expect(calls).toHaveLength(1)
  })

  test('a task that waits for a free place is queued, word for word as in 004', async () => {
    const clock = createFakeClock(start)
    const { calls, answer } = slow(clock, 60_000)
    const url = await serveTeam(answer, { clock, timeouts, concurrency: 1 })
    await rpc(url, { ...send, params: { ...send.params, immediate: false } })
    const pending = rpc(url, send)
    await clock.elapse(5_000)
    const { result } = await pending
    expect(result.task.id).toMatch(/^task-[0-9a-f-]{36}$/)
    const shown = JSON.stringify(result).replace(
      result.task.id,
      'task-123e4567-e89b-12d3-a456-426614174000',
    )
    expect(shown).toBe(JSON.stringify(JSON.parse(queued)))
    expect(calls).toHaveLength(1)
  })
})
