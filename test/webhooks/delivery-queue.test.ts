import { describe, expect, test } from 'vitest'
import type { StreamResponse, TaskState } from '../../src/protocol/types.ts'
import { wants } from '../../src/webhooks/delivery-queue.ts'

const names = ['statusChanged', 'artifactAdded', 'completed', 'failed', 'cancelled']

const namesFor = (event: StreamResponse): readonly string[] =>
  names.filter((name) => wants([name], event))

describe('the events filter of a webhook', () => {
  test.each<[TaskState, readonly string[]]>([
    ['TASK_STATE_WORKING', ['statusChanged']],
    ['TASK_STATE_INPUT_REQUIRED', ['statusChanged']],
    ['TASK_STATE_COMPLETED', ['statusChanged', 'completed']],
    ['TASK_STATE_FAILED', ['statusChanged', 'failed']],
    ['TASK_STATE_REJECTED', ['statusChanged', 'failed']],
    ['TASK_STATE_CANCELED', ['statusChanged', 'cancelled']],
  ])('R-14 knows %s as %j', (state, expected) => {
    const status = { state }
    expect(namesFor({ statusUpdate: { taskId: 't', contextId: 'c', status } })).toEqual(expected)
    expect(namesFor({ task: { id: 't', contextId: 'c', status } })).toEqual(expected)
  })

  test('knows an artifact by its own name, and wants everything where there is no filter', () => {
    const artifact = { artifactId: 'a', parts: [] }
    const event = { artifactUpdate: { taskId: 't', contextId: 'c', artifact } }
    expect(namesFor(event)).toEqual(['artifactAdded'])
    expect(wants(undefined, event)).toBe(true)
    expect(wants([], event)).toBe(false)
    expect(namesFor({ message: { messageId: 'm', role: 'ROLE_AGENT', parts: [] } })).toEqual([])
  })
})
