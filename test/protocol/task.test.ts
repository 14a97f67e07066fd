import { describe, expect, test } from 'vitest'
import type { TaskStateSpelling } from '../../src/protocol/task.ts'
import {
  agentMessage,
  answerParts,
  canTransition,
  completedTaskWithText,
  isInterrupted,
  isTerminal,
  newArtifact,
  newStatus,
  readableText,
  taskStates,
  textOf,
  toTaskState,
  userMessage,
  validateTaskId,
} from '../../src/protocol/task.ts'
import type { Message, Task, TaskState } from '../../src/protocol/types.ts'

describe('task states', () => {
  test('C009: are the nine of the specification, in its order', () => {
    expect(taskStates).toEqual([
      'TASK_STATE_UNSPECIFIED',
      'TASK_STATE_SUBMITTED',
      'TASK_STATE_WORKING',
      'TASK_STATE_COMPLETED',
      'TASK_STATE_FAILED',
      'TASK_STATE_CANCELED',
      'TASK_STATE_INPUT_REQUIRED',
      'TASK_STATE_REJECTED',
      'TASK_STATE_AUTH_REQUIRED',
    ])
  })

  test('are terminal, interrupted or neither, never both', () => {
    expect(taskStates.filter(isTerminal)).toHaveLength(4)
    expect(taskStates.filter(isInterrupted)).toHaveLength(2)
    expect(taskStates.some((state) => isTerminal(state) && isInterrupted(state))).toBe(false)
  })

  test('a task that works is not submitted again, one that waits for its client is', () => {
    const living = taskStates.filter((state) => !isTerminal(state)).slice(1)
    const ways = (from: TaskState) => living.filter((next) => canTransition(from, next))
    expect(ways('TASK_STATE_SUBMITTED')).toEqual(living)
    expect(ways('TASK_STATE_INPUT_REQUIRED')).toEqual(living)
    expect(ways('TASK_STATE_AUTH_REQUIRED')).toEqual(living)
    expect(ways('TASK_STATE_WORKING')).toEqual(
      living.filter((state) => state !== 'TASK_STATE_SUBMITTED'),
    )
    expect(ways('TASK_STATE_UNSPECIFIED')).toEqual(['TASK_STATE_SUBMITTED'])
  })

  test('nothing leads out of a terminal state, and every living one can end', () => {
    const known = taskStates.filter((state) => state !== 'TASK_STATE_UNSPECIFIED')
    for (const from of known) {
      const ways = known.filter((next) => canTransition(from, next))
      if (isTerminal(from)) expect(ways).toEqual([])
      else expect(ways).toEqual(expect.arrayContaining(known.filter(isTerminal)))
    }
  })
})

describe('what is made', () => {
  test.each<[TaskStateSpelling, TaskState]>([
    ['submitted', 'TASK_STATE_SUBMITTED'],
    ['working', 'TASK_STATE_WORKING'],
    ['completed', 'TASK_STATE_COMPLETED'],
    ['failed', 'TASK_STATE_FAILED'],
    ['cancelled', 'TASK_STATE_CANCELED'],
    ['canceled', 'TASK_STATE_CANCELED'],
    ['input-required', 'TASK_STATE_INPUT_REQUIRED'],
    ['inputRequired', 'TASK_STATE_INPUT_REQUIRED'],
    ['rejected', 'TASK_STATE_REJECTED'],
    ['auth-required', 'TASK_STATE_AUTH_REQUIRED'],
    ['authRequired', 'TASK_STATE_AUTH_REQUIRED'],
    ['TASK_STATE_WORKING', 'TASK_STATE_WORKING'],
  ])('of %s is a status with %s', (spelling, state) => {
    expect(newStatus(spelling).state).toBe(state)
    expect(newStatus(spelling)).not.toHaveProperty('message')
  })

  test.each(['toString', 'WORKING', ''])('is nothing of the state %j', (state) => {
    expect(() => toTaskState(state as TaskStateSpelling)).toThrow(
      expect.objectContaining({ code: 'invalidParams' }),
    )
  })

  test('has the role, the parts and the ids that it is given', () => {
    const parts = [{ data: 1 }]
    expect(userMessage('a', { taskId: 't' })).toMatchObject({
      role: 'ROLE_USER',
      parts: [{ text: 'a' }],
      taskId: 't',
    })
    expect(agentMessage(parts)).toMatchObject({ role: 'ROLE_AGENT', parts })
    expect(newArtifact('n', 'a', 'id')).toEqual({
      artifactId: 'id',
      name: 'n',
      parts: [{ text: 'a' }],
    })
    expect(newArtifact('n', parts).parts).toBe(parts)
    expect(validateTaskId(newArtifact('n', 'a').artifactId)).toBe(true)
  })

  test('is a completed task with the message and its answer, by the ids of the message', () => {
    const message = userMessage('x', { taskId: 't', contextId: 'c' })
    const task = completedTaskWithText(message, 'done')
    const ids = { taskId: 't', contextId: 'c' }
    expect(task).toMatchObject({
      ...{ id: 't', contextId: 'c' },
      status: {
        state: 'TASK_STATE_COMPLETED',
        message: { role: 'ROLE_AGENT', parts: [{ text: 'done' }], ...ids },
      },
      history: [message, { role: 'ROLE_AGENT', ...ids }],
    })
    const other = completedTaskWithText(userMessage('x'), 'done')
    expect(other.history?.[0]).toMatchObject({ taskId: other.id, contextId: other.contextId })
    expect(other.id).not.toBe(other.contextId)
  })

  test.each([
    ['b1946ac9-2492-4a9e-8f3c-0d5e2f6a7b8c', true],
    ['B1946AC9-2492-4A9E-8F3C-0D5E2F6A7B8C', true],
    ['b1946ac9-2492-4a9e-8f3c-0d5e2f6a7b8', false],
    ['xb1946ac9-2492-4a9e-8f3c-0d5e2f6a7b8c', false],
    ['b1946ac9-2492-4a9e-8f3c-0d5e2f6a7b8g', false],
  ])('%s is an id of ours: %j', (id, is) => {
    expect(validateTaskId(id)).toBe(is)
  })
})

describe('the answer of a task', () => {
  const said = (role: Message['role'], text: string): Message => ({
    messageId: text,
    role,
    parts: [{ text }],
  })
  const task: Task = {
    id: 't',
    contextId: 'c',
    status: { state: 'TASK_STATE_COMPLETED', message: said('ROLE_AGENT', 'status') },
    artifacts: [{ artifactId: 'a', parts: [{ text: 'arti' }, { data: 1 }, { text: 'fact' }] }],
    history: [said('ROLE_AGENT', 'first'), said('ROLE_AGENT', 'last'), said('ROLE_USER', 'thanks')],
  }

  test('is in its artifacts first, then its status, then its history', () => {
    const { artifacts: _, ...withoutArtifacts } = task
    const bare: Task = { ...withoutArtifacts, status: { state: 'TASK_STATE_COMPLETED' } }
    expect(textOf(answerParts(task))).toBe('artifact')
    expect(textOf(answerParts(withoutArtifacts))).toBe('status')
    expect(textOf(answerParts(bare))).toBe('last')
    expect(answerParts({ ...bare, history: [] })).toEqual([])
  })

  test('is read as its text, and as JSON where it is data alone', () => {
    const [one, other] = [{ data: { a: 1 } }, { data: null }]
    expect(readableText([{ text: 'a ' }, one, { text: 'b' }])).toBe('a b')
    expect(readableText([one])).toBe('{"a":1}')
    expect(readableText([one, other])).toBe('[{"a":1},null]')
    expect(readableText([other])).toBe('null')
    expect(readableText([{ url: 'https://example.com/a.png' }])).toBe('')
  })
})
