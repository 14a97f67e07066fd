import { describe, expect, test } from 'vitest'
import {
  AgentCard,
  AgentProvider,
  DataPart,
  InMemoryTaskStore,
  Message,
  Role,
  Task,
  TaskState,
  TaskStatus,
  TextPart,
} from '../../src/compat/index.ts'
import { newStatus } from '../../src/index.ts'
import { createMemoryStore } from '../../src/store/memory/store.ts'
import { toTaskStore } from '../../src/store/task-store.ts'

describe('the values of 003', () => {
  test('S003-27: a provider has the name it was made with', () => {
    const provider = AgentProvider({ name: 'Workshop Demo' })
    expect(provider.name).toBe('Workshop Demo')
    expect(provider.organization).toBe('Workshop Demo')
    expect(AgentProvider({ organization: 'Demo', url: 'https://d.example' }).name).toBe('Demo')
    expect(AgentCard({ name: 'A', provider }).provider?.name).toBe('Workshop Demo')
    // the specification's provider has no such member, and strict readers refuse what they do not know
    expect(JSON.stringify(provider)).toBe('{"organization":"Workshop Demo","url":""}')
  })

  test('S003-29: a data part has the MIME type it was made with', () => {
    const part = DataPart({ data: { depth: 'detailed' }, mimeType: 'application/json' })
    expect(part.mimeType).toBe('application/json')
    expect(part.mediaType).toBe('application/json')
    expect(DataPart({ data: 1 }).mimeType).toBeUndefined()
    expect(JSON.parse(JSON.stringify(part))).toEqual({
      data: { depth: 'detailed' },
      mediaType: 'application/json',
    })
  })

  test('S003-6: builders take a state by either name', () => {
    expect(TaskStatus({ state: 'completed' })).toEqual({ state: 'TASK_STATE_COMPLETED' })
    expect(TaskStatus({ state: 'cancelled' }).state).toBe(TaskState.cancelled)
    expect(TaskStatus({ state: 'input-required' }).state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(TaskStatus({ state: TaskState.working }).state).toBe('TASK_STATE_WORKING')
    const task = Task({ id: 't', contextId: 'c', status: { state: 'failed' } })
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(newStatus('submitted').state).toBe('TASK_STATE_SUBMITTED')
    // as in JavaScript, where nobody checks the type
    expect(() => TaskStatus({ state: 'done' as never })).toThrow('"done" is no state of a task')
  })

  test('S003-13: and a role by either', () => {
    expect(Message({ role: 'user', parts: [TextPart({ text: 'hi' })] }).role).toBe(Role.user)
    expect(Message({ role: Role.agent, parts: [TextPart({ text: 'hi' })] }).role).toBe('ROLE_AGENT')
  })

  test('S003-42: so do the filters of a store', async () => {
    for (const tasks of [new InMemoryTaskStore(), toTaskStore(createMemoryStore())]) {
      await tasks.create(Task({ id: 'a', contextId: 'c', status: { state: 'completed' } }))
      await tasks.create(Task({ id: 'b', contextId: 'c', status: { state: 'canceled' } }))
      const ids = async (status: Parameters<typeof TaskStatus>[0]['state']): Promise<string[]> =>
        (await tasks.list({ status })).map(({ id }) => id)
      expect(await ids('completed')).toEqual(['a'])
      expect(await ids('TASK_STATE_COMPLETED')).toEqual(['a'])
      expect(await ids('cancelled')).toEqual(['b'])
      expect(await ids('canceled')).toEqual(['b'])
      expect(await ids('working')).toEqual([])
    }
  })
})
