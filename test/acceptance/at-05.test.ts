import { describe, expect, test } from 'vitest'
import { untilCancelled } from '../fixtures/members.ts'
import { serveTasks, taskIn } from './seeded.ts'
import { post, rpc } from './serve.ts'
import { serveTeam } from './team.ts'

const params = `{
  "task_id": "task-123e4567-e89b-12d3-a456-426614174000"
}`

const cancelled = `{
  "cancelled": true
}`

const timestamp = '2025-12-11T10:32:00.000Z'
const request = `{"jsonrpc":"2.0","method":"task/cancel","params":${params},"id":1}`

describe('AT-5: task/cancel', () => {
  test.each(['TASK_STATE_WORKING', 'TASK_STATE_SUBMITTED'] as const)(
    'a task that is %s is cancelled, and stays so',
    async (state) => {
      const url = await serveTasks(taskIn(state, { timestamp }))
      const { text } = await post(`${url}/rpc`, request)
      expect(text).toBe(
        `{"jsonrpc":"2.0","result":${JSON.stringify(JSON.parse(cancelled))},"id":1}`,
      )
      const status = await rpc(`${url}/rpc`, { method: 'task/status', params: JSON.parse(params) })
      expect(status.result.state).toBe('cancelled')
      expect((await post(`${url}/rpc`, request)).json.result).toEqual({ cancelled: true })
    },
  )

  test.each(['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED'] as const)(
    'a task that is %s is not',
    async (state) => {
      const url = await serveTasks(taskIn(state, { timestamp, answer: 'x' }))
      expect((await post(`${url}/rpc`, request)).json.result).toEqual({ cancelled: false })
    },
  )

  test('an unknown task is -32004', async () => {
    const url = await serveTasks()
    expect((await post(`${url}/rpc`, request)).json).toMatchObject({
      error: { code: -32004 },
      id: 1,
    })
  })

  test("the member's signal fires", async () => {
    let stopped: (() => void) | undefined
    const fired = new Promise<void>((resolve) => {
      stopped = resolve
    })
    const url = await serveTeam((_text, turn) => {
      turn.signal.addEventListener('abort', () => stopped?.())
      return untilCancelled(turn)
    })
    const message = { role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
    const { result } = await rpc(url, {
      method: 'message/send',
      params: { message, immediate: false },
    })
    const task_id: string = result.task.id
    const state = async () =>
      (await rpc(url, { method: 'task/status', params: { task_id } })).result.state
    await expect.poll(state).toBe('working')
    expect((await rpc(url, { method: 'task/cancel', params: { task_id } })).result).toEqual({
      cancelled: true,
    })
    await fired
    expect(await state()).toBe('cancelled')
  })
})
