import { expect, test } from 'vitest'
import { parseMessage, parseRequest, parseTask } from '../../src/protocol/schema.ts'
import * as build from '../../src/protocol/task.ts'

test('what the builders make is canonical', () => {
  const message = build.userMessage('hello', { contextId: 'c' })
  const task = build.completedTaskWithText(message, 'done')
  expect(parseMessage(message)).toBe(message)
  expect(parseRequest('SendMessage', { message }).message).toBe(message)
  expect(parseTask(task)).toBe(task)
  expect(task.history).toHaveLength(2)
  expect(task.history?.every(({ taskId }) => taskId === task.id)).toBe(true)
})

test('a message is of text or of the given parts, with an id of its own', () => {
  const parts = [build.textPart('a'), build.dataPart({ b: 1 })]
  const message = build.agentMessage(parts)
  expect(message).toMatchObject({ role: 'ROLE_AGENT', parts })
  expect(message.messageId).not.toBe(build.agentMessage(parts).messageId)
})

test('C003, C004: now is ISO 8601 in UTC with milliseconds', () => {
  expect(build.nowIso8601()).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
})

test('our task ids are UUIDs', () => {
  expect(build.validateTaskId(build.completedTaskWithText(build.userMessage('a'), 'b').id)).toBe(
    true,
  )
  expect(build.validateTaskId('task-1')).toBe(false)
})
