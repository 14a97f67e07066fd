import { describe, expect, test } from 'vitest'
import { serveTasks, taskIn } from './seeded.ts'
import { post } from './serve.ts'

const params = `{
  "task_id": "task-123e4567-e89b-12d3-a456-426614174000"
}`

const completed = `{
  "id": "task-123e4567-e89b-12d3-a456-426614174000",
  "status": {
    "state": "completed",
    "updated_at": "2025-12-11T10:35:00Z"
  },
  "result": {
    "role": "agent",
    "parts": [
      {
        "type": "text",
        "text": "Once upon a time..."
      }
    ]
  }
}`

const inProgress = `{
  "id": "task-123e4567-e89b-12d3-a456-426614174000",
  "status": {
    "state": "working",
    "updated_at": "2025-12-11T10:32:00Z"
  }
}`

const request = (text: string) => `{"jsonrpc":"2.0","method":"task/get","params":${text},"id":1}`
const bytes = (json: string) =>
  `{"jsonrpc":"2.0","result":${JSON.stringify(JSON.parse(json))},"id":1}`

describe('AT-3: task/get', () => {
  test('a completed task has its result', async () => {
    const url = await serveTasks(
      taskIn('TASK_STATE_COMPLETED', {
        timestamp: '2025-12-11T10:35:00.000Z',
        answer: 'Once upon a time...',
      }),
    )
    expect((await post(`${url}/rpc`, request(params))).text).toBe(bytes(completed))
  })

  test('a task in progress has none', async () => {
    const url = await serveTasks(
      taskIn('TASK_STATE_WORKING', { timestamp: '2025-12-11T10:32:00.000Z' }),
    )
    expect((await post(`${url}/rpc`, request(params))).text).toBe(bytes(inProgress))
  })

  test('an unknown task is -32004 with the id of the request', async () => {
    const url = await serveTasks()
    const { json } = await post(`${url}/rpc`, request(params).replace('"id":1}', '"id":"seven"}'))
    expect(json).toMatchObject({ jsonrpc: '2.0', error: { code: -32004 }, id: 'seven' })
  })
})
