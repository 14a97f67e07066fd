import { describe, expect, test } from 'vitest'
import type { TaskState } from '../../src/protocol/types.ts'
import { untilCancelled } from '../fixtures/members.ts'
import { serveTasks, taskIn } from './seeded.ts'
import { post, rpc } from './serve.ts'
import { serveTeam } from './team.ts'

const params = `{
  "task_id": "task-123e4567-e89b-12d3-a456-426614174000"
}`

const working = `{
  "state": "working",
  "updated_at": "2025-12-11T10:32:00Z",
  "reason": null
}`

describe('AT-4: task/status', () => {
  test('says state, time and reason, word for word as in 004', async () => {
    const url = await serveTasks(
      taskIn('TASK_STATE_WORKING', { timestamp: '2025-12-11T10:32:00.000Z' }),
    )
    const body = `{"jsonrpc":"2.0","method":"task/status","params":${params},"id":1}`
    const { text } = await post(`${url}/rpc`, body)
    expect(text).toBe(`{"jsonrpc":"2.0","result":${JSON.stringify(JSON.parse(working))},"id":1}`)
  })

  test('shows each of the five states, and no result', async () => {
    const states: [TaskState, string][] = [
      ['TASK_STATE_SUBMITTED', 'queued'],
      ['TASK_STATE_WORKING', 'working'],
      ['TASK_STATE_COMPLETED', 'completed'],
      ['TASK_STATE_FAILED', 'failed'],
      ['TASK_STATE_CANCELED', 'cancelled'],
    ]
    const timestamp = '2025-12-11T10:32:00.000Z'
    const tasks = states.map(([state], i) => taskIn(state, { timestamp, id: `t${i}`, answer: 'x' }))
    const url = await serveTasks(...tasks)
    for (const [i, [, state]] of states.entries()) {
      const { result } = await rpc(`${url}/rpc`, {
        method: 'task/status',
        params: { task_id: `task-t${i}` },
      })
      expect(result).toEqual({ state, updated_at: '2025-12-11T10:32:00Z', reason: null })
    }
  })

  test('a team reaches all five of them', async () => {
    const url = await serveTeam(
      (text, turn) => {
        if (text === 'wait') return untilCancelled(turn)
        if (text === 'fail') throw new Error('no')
        return 'done'
      },
      { concurrency: 1 },
    )
    const begin = async (text: string): Promise<string> => {
      const message = { role: 'user', parts: [{ type: 'text', text }] }
      const { result } = await rpc(url, {
        method: 'message/send',
        params: { message, immediate: false },
      })
      return result.task.id
    }
    const state = async (task_id: string): Promise<string> =>
      (await rpc(url, { method: 'task/status', params: { task_id } })).result.state
    const waiting = await begin('wait')
    const behind = await begin('go on')
    await expect.poll(() => state(waiting)).toBe('working')
    expect(await state(behind)).toBe('queued')
    await rpc(url, { method: 'task/cancel', params: { task_id: waiting } })
    expect(await state(waiting)).toBe('cancelled')
    await expect.poll(() => state(behind)).toBe('completed')
    const failing = await begin('fail')
    await expect.poll(() => state(failing)).toBe('failed')
  })

  test('an unknown task is -32004', async () => {
    const url = await serveTasks()
    const answer = await rpc(`${url}/rpc`, { method: 'task/status', params: JSON.parse(params) })
    expect(answer).toMatchObject({ error: { code: -32004 }, id: 1 })
  })
})
