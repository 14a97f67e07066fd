import { describe, expect, test } from 'vitest'
import { encodeWebhook } from '../../../src/bindings/dialects/rpc-dialects.ts'
import type { StreamResponse, Task, TaskState } from '../../../src/protocol/types.ts'
import { task } from '../scripted.ts'

const agent = 'team-1'
const event: StreamResponse = {
  statusUpdate: { taskId: task.id, contextId: task.contextId, status: task.status },
}

describe('C-36 a webhook', () => {
  test.each(['1.0', '1.0-rc'] as const)('G012 of %s gets the event itself', (dialect) => {
    expect(encodeWebhook({ dialect, agent }, event, task)).toEqual({
      contentType: 'application/a2a+json',
      body: JSON.stringify(event),
    })
  })

  test.each(['0.3', '0.3-rest'] as const)('of %s gets the whole task', (dialect) => {
    const { contentType, body } = encodeWebhook({ dialect, agent }, event, task)
    expect(contentType).toBe('application/json')
    expect(JSON.parse(body)).toMatchObject({
      kind: 'task',
      id: task.id,
      status: { state: 'completed' },
    })
  })

  test.each([
    ['TASK_STATE_WORKING', 'statusChanged'],
    ['TASK_STATE_COMPLETED', 'completed'],
    ['TASK_STATE_FAILED', 'failed'],
    ['TASK_STATE_CANCELED', 'cancelled'],
  ] as const)('of RANCH is told of %s as %s', (state: TaskState, name) => {
    const at: Task = { ...task, status: { state, timestamp: '2025-12-11T10:35:00.000Z' } }
    const { body } = encodeWebhook({ dialect: 'ranch', agent }, event, at)
    expect(JSON.parse(body)).toMatchObject({
      event: name,
      agentId: 'team-1',
      timestamp: '2025-12-11T10:35:00.000Z',
      task: { id: `task-${task.id}` },
    })
  })

  test('of RANCH is told of an artifact as such', () => {
    const artifact = { artifactId: 'a', parts: [{ text: 'x' }] }
    const added: StreamResponse = { artifactUpdate: { taskId: 't', contextId: 'c', artifact } }
    const { body } = encodeWebhook({ dialect: 'ranch', agent }, added, task)
    expect(JSON.parse(body)).toMatchObject({ event: 'artifactAdded' })
  })
})
